import { Group, SimpleGrid, Stack, Text } from '@mantine/core';
import type { Overview } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { useCan, useSession } from '../../app/session-context.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { AuditBadge } from './AuditBadge.tsx';
import { RefusalsChart, TokensChart } from './Charts.tsx';
import { InstanceHints } from './InstanceHints.tsx';
import { StartGuide } from './start/StartGuide.tsx';
import { ExpiringCredentials, FailingDeliveries, WritingAgents } from './Tables.tsx';
import { WaitingApprovals } from './WaitingApprovals.tsx';

/** The charts move on with the minutes. Events refresh the page earlier. */
const refetchInterval = 60_000;

export function OverviewPage() {
  const { organizationName } = useSession();
  const can = useCan();
  const query = useApi('getOverview', {}, { refetchInterval });
  const { data: overview, error } = query;
  const retry = () => void query.refetch();
  return (
    <>
      <PageTitle
        title="Overview"
        description={<TenantText text={organizationName} />}
        actions={
          <Group gap="xs">
            {overview?.audit && <AuditBadge audit={overview.audit} />}
            <CopyAs operation="getOverview" input={{}} />
          </Group>
        }
      />
      <Stack gap="md">
        {error && <ErrorState error={error} onRetry={retry} />}
        {query.isPending && <LoadingState label="Loading the overview" rows={10} />}
        {overview && (
          <>
            <StartGuide steps={overview.firstSteps} />
            {can('admin:orgs') && <InstanceHints />}
            <Figures overview={overview} />
          </>
        )}
      </Stack>
    </>
  );
}

function Figures({ overview }: { readonly overview: Overview }) {
  const { tokens, refusals, expiringCredentials, writingAgents, failingDeliveries, approvals } = overview;
  return (
    <>
      {tokens && refusals ? (
        <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
          <TokensChart tokens={tokens} />
          <RefusalsChart refusals={refusals} />
        </SimpleGrid>
      ) : (
        <Text size="sm" c="dimmed">
          Tokens, refusals and the status of the audit log need the scope <code>audit:read</code>.
        </Text>
      )}
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
        {approvals && <WaitingApprovals approvals={approvals} />}
        <ExpiringCredentials credentials={expiringCredentials} />
        <FailingDeliveries webhooks={failingDeliveries} />
        <WritingAgents agents={writingAgents} />
      </SimpleGrid>
    </>
  );
}
