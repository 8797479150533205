import type { WebhookDelivery } from '../../../api/generated.ts';
import { useAction } from '../../../api/queries.ts';
import { IconButton } from '../../../components/IconButton.tsx';
import { showDone, showError } from '../../../components/notices.tsx';
import { count } from './delivery-words.ts';

interface ReplaySelectedProps {
  readonly webhookId: string;
  readonly selected: readonly WebhookDelivery[];
  readonly onDone: () => void;
}

/** Sends the selected deliveries again, at most a page of the list. */
export function ReplaySelected({ webhookId, selected, onDone }: ReplaySelectedProps) {
  const replay = useAction('replayWebhookDelivery', { refreshes: ['/webhooks'] });
  const sendAgain = async () => {
    try {
      for (const { id } of selected) await replay.mutateAsync({ params: { id: webhookId, deliveryId: id } });
      showDone(`${count(selected.length, 'delivery')} sent again`);
      onDone();
    } catch (error) {
      showError(error);
    }
  };
  return (
    <IconButton
      variant="default"
      size="xs"
      icon="refresh"
      onClick={() => void sendAgain()}
      loading={replay.isPending}
    >
      Replay
    </IconButton>
  );
}
