/** The plan and its subscription: upgrade, portal, cancellation. */

import { Badge, Button, Group, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Subscription } from '../../../api/generated.ts';
import { planTiers } from '../../../api/generated.ts';
import { refreshPaths, useApi } from '../../../api/queries.ts';
import { useEvents } from '../../../app/event-context.tsx';
import { isAdmin, type PageSearch } from '../../../app/page.ts';
import { useSession } from '../../../app/session-context.tsx';
import { exactTime } from '../../../components/exact-time.ts';
import { Facts } from '../../../components/Facts.tsx';
import { QueryState } from '../../../components/QueryState.tsx';
import { Section } from '../../../components/Section.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import type { usagePage } from '../page.ts';
import { CancelDialog } from './CancelDialog.tsx';
import { PortalButton } from './PortalButton.tsx';
import { UpgradeDialog } from './UpgradeDialog.tsx';

type Search = PageSearch<typeof usagePage>;

interface PlanProps {
  readonly search: Search;
  readonly onSearch: (changes: Partial<Search>) => void;
}

/** While the checkout is open in another tab. */
const waitingMilliseconds = 5_000;

export function Plan({ search, onSearch }: PlanProps) {
  const client = useQueryClient();
  const [canceling, setCanceling] = useState(false);
  const isWaiting = search.upgrade !== undefined;
  const subscription = useApi(
    'getSubscription',
    {},
    { refetchInterval: isWaiting ? waitingMilliseconds : undefined },
  );
  useEvents('billing.', () => refreshPaths(client, ['/billing', '/usage', '/tiers']));
  return (
    <Section title="Plan">
      <QueryState query={subscription} label="Loading the plan" rows={3}>
        {(data) => (
          <>
            <PlanFacts subscription={data} />
            <Actions subscription={data} onSearch={onSearch} onCancel={() => setCanceling(true)} />
            <UpgradeDialog
              target={search.upgrade}
              current={data.tier}
              onClose={() => onSearch({ upgrade: undefined })}
            />
            <CancelDialog opened={canceling} subscription={data} onClose={() => setCanceling(false)} />
          </>
        )}
      </QueryState>
    </Section>
  );
}

function PlanFacts({ subscription }: { readonly subscription: Subscription }) {
  const { tier, status, provider, currentPeriodEnd, cancelAtPeriodEnd } = subscription;
  return (
    <Facts
      facts={{
        'Current plan': <Badge tt="none">{tier}</Badge>,
        Subscription: status === 'none' ? 'none' : <StatusBadge status={status} />,
        [cancelAtPeriodEnd ? 'Ends at' : 'Paid until']: currentPeriodEnd && exactTime(currentPeriodEnd),
        Billing:
          provider === null
            ? 'not configured on this instance'
            : provider === 'embedded'
              ? 'embedded provider: no payment is taken'
              : 'Stripe',
      }}
    />
  );
}

const cancelable: readonly Subscription['status'][] = ['active', 'past_due', 'incomplete'];

function Actions({
  subscription,
  onSearch,
  onCancel,
}: {
  readonly subscription: Subscription;
  readonly onSearch: PlanProps['onSearch'];
  readonly onCancel: () => void;
}) {
  const session = useSession();
  const { tier, status, provider, cancelAtPeriodEnd } = subscription;
  const mayManage = isAdmin(session);
  // Every agent may place the first order.
  const mayOrder = mayManage || (status === 'none' && session.role !== 'viewer');
  if (provider === null)
    return (
      <Text size="sm" c="dimmed" mt="xs">
        The operator of the instance changes plans.
      </Text>
    );
  if (!mayOrder)
    return (
      <Text size="sm" c="dimmed" mt="xs">
        An admin of the organization changes the plan.
      </Text>
    );
  return (
    <Group gap="xs" mt="sm">
      {planTiers.slice(planTiers.indexOf(tier) + 1).map((target) => (
        <Button key={target} onClick={() => onSearch({ upgrade: target as Search['upgrade'] })}>
          Upgrade to {target}
        </Button>
      ))}
      {mayManage && status !== 'none' && <PortalButton />}
      {mayManage && cancelable.includes(status) && !cancelAtPeriodEnd && (
        <Button variant="default" onClick={() => onCancel()}>
          Cancel the subscription
        </Button>
      )}
    </Group>
  );
}
