import { Alert, Progress, Text } from '@mantine/core';
import { useState } from 'react';
import type { WebhookDeliveryCounts } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { Icon } from '../../../components/Icon.tsx';
import { count } from './delivery-words.ts';

/** A replay that this tab has started. */
export interface StartedReplay {
  readonly webhookId: string;
  readonly since: string;
  /** When it was requested: later deliveries are not part of it. */
  readonly until: string;
  readonly count: number;
}

interface ReplayProgressProps {
  readonly replay: StartedReplay;
  readonly onClose: () => void;
}

/** How far a replay is, from the counts of its period. */
export function ReplayProgress({ replay, onClose }: ReplayProgressProps) {
  const { webhookId, since, until } = replay;
  const [ended, setEnded] = useState(false);
  const { data } = useApi(
    'countWebhookDeliveries',
    { params: { id: webhookId }, query: { since, until } },
    { staleTime: 0, ...(!ended && { refetchInterval: 5_000 }) },
  );
  const { waiting, isEnded } = progressOf(replay, data);
  if (isEnded && !ended) setEnded(true);
  const sent = replay.count - waiting;
  return (
    <Alert
      mb="md"
      color={isEnded ? 'seal' : 'blue'}
      icon={<Icon name={isEnded ? 'check' : 'refresh'} />}
      title={isEnded ? 'Replay completed' : 'Replay under way'}
      withCloseButton
      closeButtonLabel="Close"
      onClose={onClose}
      role="status"
    >
      <Text size="sm">
        {sent.toLocaleString('en')} of {count(replay.count, 'delivery')} sent again.
        {isEnded && data && data.failed + data.dead_letter > 0
          ? ` ${count(data.failed + data.dead_letter, 'delivery')} of this period failed.`
          : ''}
      </Text>
      <Progress mt="xs" value={(100 * sent) / replay.count} aria-label="Progress of the replay" />
    </Alert>
  );
}

/** Deliveries that the replay has not reached are failed still; those it has reached are pending until they are sent. */
function progressOf({ count: all }: StartedReplay, counts: WebhookDeliveryCounts | undefined) {
  if (!counts) return { waiting: all, isEnded: false };
  const notReached = counts.open_replays > 0 ? counts.failed + counts.dead_letter : 0;
  const waiting = Math.min(all, counts.pending + notReached);
  return { waiting, isEnded: counts.open_replays === 0 && waiting === 0 };
}
