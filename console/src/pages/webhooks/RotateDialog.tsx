import { List, Select, Text } from '@mantine/core';
import type { WebhookSubscription, WebhookSubscriptionWithSecret } from '../../api/generated.ts';
import { exactTime } from '../../components/exact-time.ts';
import { FormDialog } from '../../components/FormDialog.tsx';

/** Seconds as text, which the select needs. */
const overlaps = [
  { value: '', label: 'As the instance is configured (normally 24 hours)' },
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '24 hours' },
  { value: '604800', label: '7 days' },
  { value: '0', label: 'None: the secret has leaked' },
];

interface RotateDialogProps {
  readonly subscription: WebhookSubscription;
  readonly onClose: () => void;
  readonly onRotated: (rotated: WebhookSubscriptionWithSecret) => void;
}

/** Replaces the signing secret, with a time in which both secrets sign. */
export function RotateDialog({ subscription, onClose, onRotated }: RotateDialogProps) {
  const { id, previous_secret_expires_at: overlapEnds } = subscription;
  return (
    <FormDialog
      opened
      onClose={onClose}
      title="Rotate the signing secret"
      submitLabel="Rotate secret"
      confirms
      initialValues={{ overlap: '' }}
      operation="rotateWebhookSecret"
      inputOf={({ overlap }) => ({
        params: { id },
        body: overlap === '' ? {} : { overlapSeconds: Number(overlap) },
      })}
      refreshes={['/webhooks']}
      onDone={onRotated}
    >
      {(form) => (
        <>
          <List size="sm" type="ordered">
            <List.Item>You get the new secret, once.</List.Item>
            <List.Item>
              During the overlap both secrets sign each delivery, retries too. Deploy the new one to your
              receiver.
            </List.Item>
            <List.Item>After the overlap the server erases the previous secret.</List.Item>
          </List>
          <Select
            label="Overlap"
            description="How long the previous secret signs too"
            data={overlaps}
            allowDeselect={false}
            {...form.getInputProps('overlap')}
          />
          {overlapEnds && (
            <Text size="sm">
              An earlier secret signs until {exactTime(overlapEnds)}. This rotation ends it at once.
            </Text>
          )}
        </>
      )}
    </FormDialog>
  );
}
