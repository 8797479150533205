import { TextInput } from '@mantine/core';
import type {
  NewWebhookSubscription,
  WebhookSubscription,
  WebhookSubscriptionWithSecret,
} from '../../api/generated.ts';
import { useAction } from '../../api/queries.ts';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { showDone } from '../../components/notices.tsx';
import { EventsInput } from './EventsInput.tsx';

interface Values extends Record<string, unknown> {
  name: string;
  url: string;
  events: string[];
}

const noValues: Values = { name: '', url: '', events: [] };

const bodyOf = ({ name, url, events }: Values) =>
  ({ name: name.trim(), url: url.trim(), events }) as NewWebhookSubscription;

function validate({ name, url, events }: Values): Partial<Record<keyof Values, string>> {
  return {
    ...(name.trim() === '' && { name: 'Give it a name.' }),
    ...(!/^https:\/\/./i.test(url.trim()) && { url: 'An address that starts with https://' }),
    ...(events.length === 0 && { events: 'Choose at least one event.' }),
  };
}

export interface SubscriptionDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** Absent: a new subscription. */
  readonly subscription?: WebhookSubscription;
  readonly onCreated?: (created: WebhookSubscriptionWithSecret) => void;
}

/** Creates or changes a subscription. */
export function SubscriptionDialog({ opened, onClose, subscription, onCreated }: SubscriptionDialogProps) {
  const create = useAction('createWebhook', { refreshes: ['/webhooks'] });
  const update = useAction('updateWebhook', { refreshes: ['/webhooks'] });
  const submit = async (values: Values) => {
    if (!subscription) {
      const created = await create.mutateAsync({ body: bodyOf(values) });
      // The answer holds the secret.
      create.reset();
      onCreated?.(created);
      return;
    }
    await update.mutateAsync({ params: { id: subscription.id }, body: bodyOf(values) });
    showDone('Webhook changed');
  };
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={subscription ? 'Edit webhook' : 'Subscribe to events'}
      submitLabel={subscription ? 'Save' : 'Subscribe'}
      size="lg"
      initialValues={
        subscription
          ? { name: subscription.name, url: subscription.url, events: subscription.events }
          : noValues
      }
      validate={validate}
      onSubmit={submit}
      extra={(values) =>
        subscription ? (
          <CopyAsCurl
            operation="updateWebhook"
            input={{ params: { id: subscription.id }, body: bodyOf(values) }}
          />
        ) : (
          <CopyAsCurl operation="createWebhook" input={{ body: bodyOf(values) }} />
        )
      }
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
          <EventsInput
            value={form.values.events}
            onChange={(events) => form.setFieldValue('events', events)}
            error={form.errors.events as string | undefined}
          />
        </>
      )}
    </FormDialog>
  );
}
