import { Button, Group } from '@mantine/core';
import type { WebhookDeliveryCounts } from '../../../api/generated.ts';
import { deliveryStatuses } from '../page.ts';
import { type DeliveryStatus, statusLabels } from './delivery-words.ts';

interface DeliveryCountsProps {
  readonly counts: WebhookDeliveryCounts | undefined;
  readonly status: DeliveryStatus | undefined;
  readonly onChange: (status: DeliveryStatus | undefined) => void;
}

/** How many deliveries each status has in the time range. A click filters by it. */
export function DeliveryCounts({ counts, status, onChange }: DeliveryCountsProps) {
  if (!counts) return null;
  const total = deliveryStatuses.reduce((sum, one) => sum + counts[one], 0);
  const entries = [
    { value: undefined, label: 'all', number: total },
    ...deliveryStatuses.map((value) => ({ value, label: statusLabels[value], number: counts[value] })),
  ];
  return (
    <Group gap="xs" mb="sm" role="group" aria-label="Deliveries by status">
      {entries.map(({ value, label, number }) => (
        <Button
          key={label}
          size="compact-sm"
          variant={status === value ? 'filled' : 'default'}
          aria-pressed={status === value}
          onClick={() => onChange(value)}
          fw={500}
        >
          {label}: {number.toLocaleString('en')}
        </Button>
      ))}
    </Group>
  );
}
