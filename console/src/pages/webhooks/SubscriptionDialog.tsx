import { TextInput } from '@mantine/core';
import type {
  NewWebhookSubscription,
  WebhookSubscription,
  WebhookSubscriptionWithSecret,
} from '../../api/generated.ts';
import type { DialogProps } from '../../components/FormDialog.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { SecretOnce } from '../../components/SecretOnce.tsx';
import { EventsInput } from './EventsInput.tsx';

interface Values extends Record<string, unknown> {
  name: string;
  url: string;
  events: string[];
}

const noValues: Values = { name: '', url: '', events: [] };

const bodyOf = ({ name, url, events }: Values) =>
  ({ name: name.trim(), url: url.trim(), events }) as NewWebhookSubscription;

const required = {
  name: 'Give it a name.',
  url: 'Enter an address that starts with https://',
  events: 'Choose at least one event.',
};

function validate({ url }: Values): Partial<Record<keyof Values, string>> {
  return {
    ...(!/^https:\/\/./i.test(url.trim()) && { url: 'An address that starts with https://' }),
  };
}

interface SubscriptionDialogProps extends DialogProps {
  /** Absent: a new subscription. */
  readonly subscription?: WebhookSubscription;
  readonly onCreated?: (created: WebhookSubscriptionWithSecret) => void;
}

/** Creates or changes a subscription. */
export function SubscriptionDialog({ opened, onClose, subscription, onCreated }: SubscriptionDialogProps) {
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={subscription ? 'Edit webhook' : 'Subscribe to events'}
      submitLabel={subscription ? 'Save webhook' : 'Subscribe to events'}
      size="lg"
      initialValues={
        subscription
          ? { name: subscription.name, url: subscription.url, events: subscription.events }
          : noValues
      }
      required={required}
      validate={validate}
      operation={subscription ? 'updateWebhook' : 'createWebhook'}
      inputOf={(values) =>
        subscription ? { params: { id: subscription.id }, body: bodyOf(values) } : { body: bodyOf(values) }
      }
      refreshes={['/webhooks']}
      doneMessage={subscription && 'Webhook changed'}
      onDone={(saved) => onCreated?.(saved as WebhookSubscriptionWithSecret)}
    >
      {(form) => (
        <>
          <TextInput label="Name" maxLength={255} data-autofocus {...form.getInputProps('name')} />
          <TextInput
            label="URL"
            description="The server sends a signed POST request to this address for each event. Only public https addresses are called."
            placeholder="https://example.com/hooks/countersign"
            maxLength={2048}
            inputMode="url"
            {...form.getInputProps('url')}
          />
          <EventsInput {...form.getInputProps('events')} />
        </>
      )}
    </FormDialog>
  );
}

interface SigningSecretProps {
  /** Undefined: closed. */
  readonly subscription: WebhookSubscriptionWithSecret | undefined;
  readonly onClose: () => void;
}

/** The signing secret after creation and rotation. */
export function SigningSecret({ subscription, onClose }: SigningSecretProps) {
  return (
    <SecretOnce
      secret={subscription?.signingSecret}
      onClose={onClose}
      name="Signing secret"
      note="The server does not show it again. Your receiver verifies each delivery with it. Copy it now, or download it."
      variables={{ WEBHOOK_ID: subscription?.id ?? '', SIGNING_SECRET: subscription?.signingSecret ?? '' }}
      fileName="webhook"
    />
  );
}
