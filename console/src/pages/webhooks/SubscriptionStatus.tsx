import { Group, Text } from '@mantine/core';
import type { WebhookSubscription } from '../../api/generated.ts';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import type { ShownStatus } from './page.ts';

export const shownStatusOf = ({ active, failure_count }: WebhookSubscription): ShownStatus =>
  active ? (failure_count === 0 ? 'active' : 'failing') : 'paused';

/** Paused, working, or failing with the number of failures since the last success. */
export function SubscriptionStatus({ subscription }: { readonly subscription: WebhookSubscription }) {
  const { failure_count: failures } = subscription;
  const status = shownStatusOf(subscription);
  if (status === 'paused') return <StatusBadge status="inactive" label="paused" />;
  if (status === 'active') return <StatusBadge status="active" />;
  return (
    <Group gap="xs">
      <StatusBadge status="failing" />
      <Text size="xs" c="dimmed">
        {failures.toLocaleString('en')} failed {failures === 1 ? 'attempt' : 'attempts'}
      </Text>
    </Group>
  );
}
