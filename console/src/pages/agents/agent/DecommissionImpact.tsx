/** What ends with an agent: counts of the present, each from one request for a total. */

import { List, Skeleton } from '@mantine/core';
import { useApi } from '../../../api/queries.ts';
import { useCan } from '../../../app/session-context.tsx';
import { offlineNote } from '../../../components/offline-note.ts';
import { useTokensOfLastHour } from './tokens-of-last-hour.ts';

interface EndingsProps {
  readonly agentId: string;
  readonly for: 'suspend' | 'decommission';
}

interface Total {
  readonly data?: { readonly total: number } | undefined;
  readonly isError: boolean;
}

interface Ending {
  /** Undefined: the session may not count them. */
  readonly of: Total | undefined;
  readonly one: string;
  readonly many: string;
  /** Without a count. */
  readonly uncounted: string;
}

function useEndings({ agentId, for: ending }: EndingsProps): readonly Ending[] {
  const mayReadAudit = useCan()('audit:read');
  const params = { agentId };
  const credentials = useApi('listCredentials', { params, query: { status: 'active', limit: 1 } });
  const grants = useApi('listAgentGrants', { params, query: { limit: 1 } });
  const policies = useApi('listTrustPolicies', { query: { agentId, status: 'active', limit: 1 } });
  const listings = useApi('listListings', { query: { agentId, status: 'published', limit: 1 } });
  const delegations = useApi(
    'listDelegations',
    { query: { agentId, status: 'active', limit: 1 } },
    { enabled: mayReadAudit },
  );
  const tokens = useTokensOfLastHour(agentId);
  const forGood = ending === 'decommission';
  const untilReactivated = forGood ? '' : ' until it is reactivated';
  return [
    {
      of: undefined,
      one: '',
      many: '',
      uncounted: `Its console sessions end, and people who act through it cannot sign in${forGood ? ' any more' : untilReactivated}`,
    },
    {
      of: mayReadAudit ? tokens : undefined,
      one: `1 token of the last hour ends for introspection, and all others that are still valid. ${offlineNote()}`,
      many: `tokens of the last hour end for introspection, and all others that are still valid. ${offlineNote()}`,
      uncounted: `All of its tokens end for introspection. ${offlineNote()}`,
    },
    forGood
      ? {
          of: credentials,
          one: '1 active credential is revoked',
          many: 'active credentials are revoked',
          uncounted: 'Its credentials are revoked',
        }
      : {
          of: credentials,
          one: `1 active credential gets no tokens${untilReactivated}`,
          many: `active credentials get no tokens${untilReactivated}`,
          uncounted: `Its credentials get no tokens${untilReactivated}`,
        },
    {
      of: mayReadAudit ? delegations : undefined,
      one: '1 active delegation is revoked for good, with all that was passed on',
      many: 'active delegations are revoked for good, with all that was passed on',
      uncounted: 'Its delegations are revoked for good, with all that was passed on',
    },
    {
      of: grants,
      one: `1 grant of an API has no effect${untilReactivated}`,
      many: `grants of APIs have no effect${untilReactivated}`,
      uncounted: `Its grants of APIs have no effect${untilReactivated}`,
    },
    {
      of: policies,
      one: `1 trust policy admits no workload${untilReactivated}`,
      many: `trust policies admit no workload${untilReactivated}`,
      uncounted: `Its trust policies admit no workload${untilReactivated}`,
    },
    {
      of: listings,
      one: `Its marketplace listing is hidden${untilReactivated}`,
      many: `listings are hidden${untilReactivated}`,
      uncounted: `Its marketplace listing is hidden${untilReactivated}`,
    },
  ];
}

function textOf({ of, one, many, uncounted }: Ending): string | undefined {
  if (of === undefined || of.isError) return uncounted;
  const total = of.data?.total ?? 0;
  if (total === 0) return undefined;
  return total === 1 ? one : `${total.toLocaleString('en')} ${many}`;
}

/** A list of what ends. A failed count does not prevent the action: the line then has no number. */
export function DecommissionImpact(props: EndingsProps) {
  const endings = useEndings(props);
  if (endings.some(({ of }) => of && !of.data && !of.isError))
    return <Skeleton height={72} aria-label="Counting" role="status" />;
  const lines = endings.map(textOf).filter((line) => line !== undefined);
  return (
    <List size="sm" spacing={4} aria-label="What ends">
      {lines.map((line) => (
        <List.Item key={line}>{line}</List.Item>
      ))}
    </List>
  );
}
