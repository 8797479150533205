import { Group, Progress, Text } from '@mantine/core';
import { type UsageLimits, unlimited } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { QueryState } from '../../components/QueryState.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { Section } from '../../components/Section.tsx';
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
  const query = useApi('getUsageLimits', {});
  return (
    <Section title="Limits">
      <QueryState query={query} label="Loading limits" rows={4}>
        {({ limits }) => (
          <div className={classes.limits}>
            {limits.map((limit) => (
              <Limit key={limit.limitType} limit={limit} />
            ))}
          </div>
        )}
      </QueryState>
    </Section>
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
