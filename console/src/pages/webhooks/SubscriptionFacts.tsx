import { Badge, Group, Paper, Text } from '@mantine/core';
import type { WebhookSubscription } from '../../api/generated.ts';
import { exactTime } from '../../components/exact-time.ts';
import { Facts } from '../../components/Facts.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import type { ShownStatus } from './page.ts';

/** The subscription itself, above its deliveries. */
export function SubscriptionFacts({ subscription }: { readonly subscription: WebhookSubscription }) {
  const { url, events, previous_secret_expires_at: overlapEnds, created_at, updated_at } = subscription;
  return (
    <Paper mb="md" p="md">
      <Facts
        facts={{
          Status: <SubscriptionStatus subscription={subscription} />,
          URL: <TenantText text={url} multiline />,
          Events: events.includes('*') ? (
            'All events'
          ) : (
            <Group gap={4}>
              {events.map((event) => (
                <Badge key={event} color="gray" tt="none" fw={500}>
                  {event}
                </Badge>
              ))}
            </Group>
          ),
          'Previous secret': overlapEnds && (
            <>
              signs too until {exactTime(overlapEnds)} (<RelativeTime time={overlapEnds} />)
            </>
          ),
          Created: (
            <>
              <RelativeTime time={created_at} />, changed <RelativeTime time={updated_at} />
            </>
          ),
        }}
      />
    </Paper>
  );
}

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
