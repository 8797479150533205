import { Group, Paper, Text, Title } from '@mantine/core';
import { useApi } from '../../api/queries.ts';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { exactTime } from '../../components/RelativeTime.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import classes from './Compliance.module.css';

/** The report of the organization. */
export function Report() {
  const { data, error, isPending, refetch } = useApi('getComplianceReport', {});
  return (
    <Paper component="section" aria-label="Report">
      <Group justify="space-between" mb="xs">
        <Title order={2}>Report of your organization</Title>
        <CopyAsCurl operation="getComplianceReport" input={{}} />
      </Group>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {isPending && <LoadingState label="Loading the report" rows={3} />}
      {data && (
        <>
          <dl className={classes.figures}>
            <div>
              <dt>Agents</dt>
              <dd>{data.agentCount.toLocaleString('en')}</dd>
            </div>
            <div>
              <dt>Verified agents</dt>
              <dd>{data.verifiedAgentCount.toLocaleString('en')}</dd>
            </div>
            <div>
              <dt>AGNTCY conformance</dt>
              <dd>
                <StatusBadge
                  status={data.agntcyConformance ? 'passing' : 'pending'}
                  label={data.agntcyConformance ? 'all agents' : 'not all agents, or not all checked yet'}
                />
              </dd>
            </div>
            <div>
              <dt>Audit log</dt>
              <dd>
                <StatusBadge
                  status={data.auditChainIntegrity ? 'passing' : 'failing'}
                  label={data.auditChainIntegrity ? 'intact' : 'not intact'}
                />
              </dd>
            </div>
          </dl>
          <Text size="xs" c="dimmed" mt="xs">
            Made at {exactTime(data.generatedAt)}. The server keeps a report for five minutes.
          </Text>
        </>
      )}
    </Paper>
  );
}
