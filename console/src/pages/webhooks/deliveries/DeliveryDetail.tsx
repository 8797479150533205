import { Group, Stack, Text, Title } from '@mantine/core';
import type { WebhookDelivery } from '../../../api/generated.ts';
import { useAction, useApi } from '../../../api/queries.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { exactTime } from '../../../components/exact-time.ts';
import { IconButton } from '../../../components/IconButton.tsx';
import { JsonView } from '../../../components/JsonView.tsx';
import { showDone, showError } from '../../../components/notices.tsx';
import { QueryState } from '../../../components/QueryState.tsx';
import { RelativeTime } from '../../../components/RelativeTime.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import { Attempts } from './Attempts.tsx';
import { count, statusLabels } from './delivery-words.ts';

interface DeliveryDetailProps {
  readonly webhookId: string;
  readonly deliveryId: string;
  /** From the list, which stays current. Absent when the delivery is on another page. */
  readonly row: WebhookDelivery | undefined;
  readonly mayReplay: boolean;
}

/** One delivery: its state, the attempts with their responses, the next retry, and the payload. */
export function DeliveryDetail({ webhookId, deliveryId, row, mayReplay }: DeliveryDetailProps) {
  const params = { id: webhookId, deliveryId };
  const query = useApi(
    'getWebhookDelivery',
    { params },
    { enabled: row === undefined, refetchInterval: 5_000 },
  );
  const replay = useAction('replayWebhookDelivery', { refreshes: ['/webhooks'] });
  const delivery = row ?? query.data;
  if (!delivery) return <QueryState query={query} label="Loading delivery" rows={4} />;
  const sendAgain = () =>
    replay.mutateAsync({ params }).then(() => showDone('The delivery is sent again'), showError);
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <StatusBadge status={delivery.status} label={statusLabels[delivery.status]} />
        <Text size="sm" c="dimmed">
          {count(delivery.attempt_count, 'attempt')}
        </Text>
      </Group>
      <Outlook delivery={delivery} />
      <Group gap="xs">
        {mayReplay && (
          <IconButton
            variant="default"
            icon="refresh"
            onClick={() => void sendAgain()}
            loading={replay.isPending}
          >
            Replay
          </IconButton>
        )}
        <CopyAs operation={mayReplay ? 'replayWebhookDelivery' : 'getWebhookDelivery'} input={{ params }} />
      </Group>
      <Title order={3}>Attempts</Title>
      <Attempts attempts={delivery.attempts} />
      <Title order={3}>Payload</Title>
      <JsonView value={delivery.payload} label="Payload" maxHeight={280} />
      <Text size="xs" c="dimmed">
        Delivery id <code>{delivery.id}</code>, created {exactTime(delivery.created_at)}
      </Text>
    </Stack>
  );
}

/** What happens next, or how it ended. */
function Outlook({ delivery }: { readonly delivery: WebhookDelivery }) {
  const { status, next_retry_at: next, delivered_at: delivered } = delivery;
  return (
    <Text size="sm" data-testid="outlook">
      {status === 'pending' && 'Waits to be sent.'}
      {status === 'delivered' && delivered && (
        <>
          Accepted by the receiver <RelativeTime time={delivered} />.
        </>
      )}
      {status === 'failed' && next && (
        <>
          Next retry <RelativeTime time={next} />, at {exactTime(next)}.
        </>
      )}
      {status === 'dead_letter' &&
        'All attempts failed. It is not retried; replay it when your receiver works again.'}
    </Text>
  );
}
