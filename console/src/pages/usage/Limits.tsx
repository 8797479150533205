import { Group, Paper, Progress, Text, Title } from '@mantine/core';
import { type UsageLimits, unlimited } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { ErrorState } from '../../components/ErrorState.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import classes from './UsagePage.module.css';

type PlanLimit = UsageLimits['limits'][number];

const labels: Readonly<Record<PlanLimit['limitType'], string>> = {
  max_agents: 'Agents',
  api_calls_per_day: 'API calls today',
  tokens_per_day: 'Tokens today',
  tokens_per_month: 'Tokens of your own agent this month',
};

const nearShare = 0.8;
const colorOf = (share: number): string => (share >= 1 ? 'red' : share >= nearShare ? 'yellow' : 'seal');

/** The limits of the plan as bars. */
export function Limits() {
  const { data, error, isPending, refetch } = useApi('getUsageLimits', {});
  return (
    <Paper component="section" aria-label="Limits">
      <Title order={2} mb="xs">
        Limits
      </Title>
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {isPending && <LoadingState label="Loading limits" rows={4} />}
      {data && (
        <div className={classes.limits}>
          {data.limits.map((limit) => (
            <Limit key={limit.limitType} limit={limit} />
          ))}
        </div>
      )}
    </Paper>
  );
}

function Limit({ limit: { limitType, limit, used, resetsAt } }: { readonly limit: PlanLimit }) {
  const label = labels[limitType];
  const isUnlimited = limit >= unlimited;
  const share = isUnlimited ? 0 : used / Math.max(1, limit);
  return (
    <div>
      <Group justify="space-between" gap="xs">
        <Text size="sm">{label}</Text>
        <Text size="sm">
          {used.toLocaleString('en')}
          {isUnlimited ? ', no limit' : ` of ${limit.toLocaleString('en')}`}
        </Text>
      </Group>
      {!isUnlimited && (
        <Progress.Root size="md" mt={2}>
          <Progress.Section
            value={Math.min(100, share * 100)}
            color={colorOf(share)}
            aria-label={`${label}: ${Math.round(share * 100)} percent used`}
          />
        </Progress.Root>
      )}
      <Text size="xs" c="dimmed">
        {share >= 1 && 'Used up. '}
        {resetsAt ? (
          <>
            Resets <RelativeTime time={resetsAt} />
          </>
        ) : (
          'Agents that are not decommissioned'
        )}
      </Text>
    </div>
  );
}
