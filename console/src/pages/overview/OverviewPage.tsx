import { Stack, Text } from '@mantine/core';
import type { Overview } from '../../api/generated.ts';
import { operatorScope } from '../../app/page.ts';
import { useCan, useSession } from '../../app/session-context.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { RefusalsChart, TokensChart } from './Charts.tsx';
import { Headline } from './Headline.tsx';
import { InOrder } from './InOrder.tsx';
import { InstanceHints } from './InstanceHints.tsx';
import classes from './OverviewPage.module.css';
import { StartGuide } from './start/StartGuide.tsx';
import { ExpiringCredentials, FailingDeliveries, WritingAgents } from './Tables.tsx';
import { useOverview } from './use-overview.ts';

/** The charts move on with the minutes. Events refresh the page earlier. */
const refetchInterval = 60_000;

export function OverviewPage() {
  const { organizationName } = useSession();
  const can = useCan();
  const query = useOverview({ refetchInterval });
  const { data: overview, error } = query;
  const retry = () => void query.refetch();
  return (
    <>
      <PageTitle
        title="Overview"
        description={<TenantText text={organizationName} />}
        actions={<CopyAs operation="getOverview" input={{}} />}
      />
      <Stack gap="md">
        {error && <ErrorState error={error} onRetry={retry} />}
        {query.isPending && <LoadingState label="Loading the overview" rows={10} />}
        {overview && (
          <>
            <StartGuide steps={overview.firstSteps} />
            <Headline overview={overview} />
            {can(operatorScope) && <InstanceHints />}
            <Figures overview={overview} />
          </>
        )}
      </Stack>
    </>
  );
}

/** A part without content is one line at the end: it takes no room beside one that has content. */
function Figures({ overview }: { readonly overview: Overview }) {
  const { tokens, refusals, expiringCredentials, writingAgents, failingDeliveries } = overview;
  const hasTokens = tokens?.data.some(({ issued, refused }) => issued + refused > 0);
  return (
    <>
      <div className={classes.charts}>
        {tokens && hasTokens && <TokensChart tokens={tokens} />}
        {refusals && refusals.data.length > 0 && <RefusalsChart refusals={refusals} />}
      </div>
      <div className={classes.tables}>
        {expiringCredentials.data.length > 0 && <ExpiringCredentials credentials={expiringCredentials} />}
        {failingDeliveries && failingDeliveries.length > 0 && (
          <FailingDeliveries webhooks={failingDeliveries} />
        )}
        {writingAgents.data.length > 0 && <WritingAgents agents={writingAgents} />}
      </div>
      <InOrder
        facts={[
          tokens && !hasTokens && 'No tokens in the last 60 minutes',
          refusals && refusals.data.length === 0 && 'No refusals in the last 24 hours',
          expiringCredentials.data.length === 0 && 'No credential expires within 14 days',
          failingDeliveries?.length === 0 && 'No webhook has failing deliveries',
          writingAgents.data.length === 0 && 'No agent can change things here',
        ]}
      />
      {!tokens && (
        <Text size="sm" c="dimmed">
          Tokens, refusals and the status of the audit log need the scope <code>audit:read</code>.
        </Text>
      )}
      {failingDeliveries === null && (
        <Text size="sm" c="dimmed">
          Failing deliveries need the scope <code>webhooks:read</code>.
        </Text>
      )}
    </>
  );
}
