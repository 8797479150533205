import { Group, Text } from '@mantine/core';
import type { WebhookSubscription } from '../../api/generated.ts';
import { StatusBadge } from '../../components/StatusBadge.tsx';

/** Paused, working, or failing with the number of failures since the last success. */
export function SubscriptionStatus({ subscription }: { readonly subscription: WebhookSubscription }) {
  const { active, failure_count: failures } = subscription;
  if (!active) return <StatusBadge status="inactive" label="paused" />;
  if (failures === 0) return <StatusBadge status="active" />;
  return (
    <Group gap="xs">
      <StatusBadge status="failing" />
      <Text size="xs" c="dimmed">
        {failures.toLocaleString('en')} failed {failures === 1 ? 'attempt' : 'attempts'}
      </Text>
    </Group>
  );
}
