/** The effects of suspending or decommissioning an agent: counts of the present, each from one request for a total. */

import { List, Skeleton } from '@mantine/core';
import { useState } from 'react';
import { useApi } from '../../../api/queries.ts';
import { useCan } from '../../../app/session-context.tsx';
import { offlineVerificationNote } from '../../../components/offline-verification.ts';

interface DecommissionImpactProps {
  readonly agentId: string;
  readonly for: 'suspend' | 'decommission';
}

interface Total {
  readonly data?: { readonly total: number } | undefined;
  readonly isError: boolean;
}

interface Impact {
  /** Undefined: the session may not count them. */
  readonly of: Total | undefined;
  readonly one: string;
  readonly many: string;
  /** Without a count. */
  readonly uncounted: string;
}

function useImpacts({ agentId, for: ending }: DecommissionImpactProps): readonly Impact[] {
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
      one: `1 token of the last hour ends for introspection, and all others that are still valid. ${offlineVerificationNote()}`,
      many: `tokens of the last hour end for introspection, and all others that are still valid. ${offlineVerificationNote()}`,
      uncounted: `All of its tokens end for introspection. ${offlineVerificationNote()}`,
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

function textOf({ of, one, many, uncounted }: Impact): string | undefined {
  if (of === undefined || of.isError) return uncounted;
  const total = of.data?.total ?? 0;
  if (total === 0) return undefined;
  return total === 1 ? one : `${total.toLocaleString('en')} ${many}`;
}

/** A list of what ends. A failed count does not prevent the action: the line then has no number. */
export function DecommissionImpact(props: DecommissionImpactProps) {
  const impacts = useImpacts(props);
  if (impacts.some(({ of }) => of && !of.data && !of.isError))
    return <Skeleton height={72} aria-label="Counting" role="status" />;
  const lines = impacts.map(textOf).filter((line) => line !== undefined);
  return (
    <List size="sm" spacing={4} aria-label="What ends">
      {lines.map((line) => (
        <List.Item key={line}>{line}</List.Item>
      ))}
    </List>
  );
}

const hour = 3_600_000;

/** How many tokens were issued to the agent in the last hour: as long as an access token can be valid. Needs audit:read. */
function useTokensOfLastHour(agentId: string) {
  const can = useCan();
  // One time for the life of the dialog: each new time would be a new request.
  const [fromDate] = useState(() => new Date(Date.now() - hour).toISOString());
  return useApi(
    'listAuditEvents',
    { query: { agentId, action: 'token.issued', fromDate, limit: 1 } },
    { enabled: can('audit:read') },
  );
}
