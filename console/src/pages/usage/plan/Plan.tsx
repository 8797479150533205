/** The plan and its subscription: upgrade, portal, cancellation. */
import { Badge, Button, Group, Paper, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Subscription } from '../../../api/generated.ts';
import { refreshPaths, useApi } from '../../../api/queries.ts';
import { useEvents } from '../../../app/event-context.tsx';
import { isAdmin, type PageSearch } from '../../../app/page.ts';
import { useSession } from '../../../app/session-context.tsx';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { LoadingState } from '../../../components/LoadingState.tsx';
import { exactTime } from '../../../components/RelativeTime.tsx';
import { StatusBadge } from '../../../components/StatusBadge.tsx';
import type { usagePage } from '../page.ts';
import classes from '../UsagePage.module.css';
import { CancelDialog } from './CancelDialog.tsx';
import { PortalButton } from './PortalButton.tsx';
import { plansAbove } from './plans.ts';
import { UpgradeDialog } from './UpgradeDialog.tsx';

type Search = PageSearch<typeof usagePage>;

export interface PlanProps {
  readonly search: Search;
  readonly onSearch: (changes: Partial<Search>) => void;
}

/** While the checkout is open in another tab. */
const waitingMilliseconds = 5_000;

export function Plan({ search, onSearch }: PlanProps) {
  const client = useQueryClient();
  const [canceling, setCanceling] = useState(false);
  const isWaiting = search.upgrade !== undefined;
  const { data, error, isPending, refetch } = useApi(
    'getSubscription',
    {},
    { refetchInterval: isWaiting ? waitingMilliseconds : undefined },
  );
  useEvents('billing.', () => refreshPaths(client, ['/billing', '/usage', '/tiers']));
  return (
    <Paper component="section" aria-label="Plan">
      <Title order={2} mb="xs">
        Plan
      </Title>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {isPending && <LoadingState label="Loading the plan" rows={3} />}
      {data && (
        <>
          <Facts subscription={data} />
          <Actions subscription={data} onSearch={onSearch} onCancel={() => setCanceling(true)} />
          <UpgradeDialog
            target={search.upgrade}
            current={data.tier}
            onClose={() => onSearch({ upgrade: undefined })}
          />
          <CancelDialog opened={canceling} subscription={data} onClose={() => setCanceling(false)} />
        </>
      )}
    </Paper>
  );
}

function Facts({ subscription }: { readonly subscription: Subscription }) {
  const { tier, status, provider, currentPeriodEnd, cancelAtPeriodEnd } = subscription;
  return (
    <dl className={classes.facts}>
      <dt>Current plan</dt>
      <dd>
        <Badge tt="none">{tier}</Badge>
      </dd>
      <dt>Subscription</dt>
      <dd>{status === 'none' ? 'none' : <StatusBadge status={status} />}</dd>
      {currentPeriodEnd && (
        <>
          <dt>{cancelAtPeriodEnd ? 'Ends at' : 'Paid until'}</dt>
          <dd>{exactTime(currentPeriodEnd)}</dd>
        </>
      )}
      <dt>Billing</dt>
      <dd>
        {provider === null
          ? 'not configured on this instance'
          : provider === 'embedded'
            ? 'embedded provider: no payment is taken'
            : 'Stripe'}
      </dd>
    </dl>
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
      {plansAbove(tier).map((target) => (
        <Button key={target} onClick={() => onSearch({ upgrade: target })}>
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
