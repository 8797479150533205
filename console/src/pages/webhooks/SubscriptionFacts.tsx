import { Badge, Group, Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { WebhookSubscription } from '../../api/generated.ts';
import { exactTime, RelativeTime } from '../../components/RelativeTime.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { SubscriptionStatus } from './SubscriptionStatus.tsx';
import classes from './Webhook.module.css';

function Fact({ term, children }: { readonly term: string; readonly children: ReactNode }) {
  return (
    <>
      <Text component="dt" size="xs" c="dimmed">
        {term}
      </Text>
      <Text component="dd" size="sm" className={classes.value ?? ''}>
        {children}
      </Text>
    </>
  );
}

/** The subscription itself, above its deliveries. */
export function SubscriptionFacts({ subscription }: { readonly subscription: WebhookSubscription }) {
  const { url, events, previous_secret_expires_at: overlapEnds, created_at, updated_at } = subscription;
  return (
    <Paper mb="md" p="md">
      <dl className={classes.facts}>
        <Fact term="Status">
          <SubscriptionStatus subscription={subscription} />
        </Fact>
        <Fact term="URL">
          <TenantText text={url} multiline />
        </Fact>
        <Fact term="Events">
          {events.includes('*') ? (
            'All events'
          ) : (
            <Group gap={4}>
              {events.map((event) => (
                <Badge key={event} color="gray" tt="none" fw={500}>
                  {event}
                </Badge>
              ))}
            </Group>
          )}
        </Fact>
        {overlapEnds && (
          <Fact term="Previous secret">
            signs too until {exactTime(overlapEnds)} (<RelativeTime time={overlapEnds} />)
          </Fact>
        )}
        <Fact term="Created">
          <RelativeTime time={created_at} />, changed <RelativeTime time={updated_at} />
        </Fact>
      </dl>
    </Paper>
  );
}
