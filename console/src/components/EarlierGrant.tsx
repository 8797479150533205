import { type ReactNode, useEffect, useState } from 'react';
import { useApi } from '../api/queries.ts';
import { ErrorState } from './ErrorState.tsx';
import { LoadingState } from './LoadingState.tsx';

interface EarlierGrantProps {
  readonly agentId: string;
  readonly resourceId: string;
  /** Called once with the scopes that the agent holds now. */
  readonly onScopes: (scopes: string[]) => void;
  readonly children: (earlier: readonly string[]) => ReactNode;
}

/**
 * A grant replaces an earlier one of the same agent and API. So the scopes can be chosen only when the earlier ones are known.
 * Needs a `key` of agent and API.
 */
export function EarlierGrant({ agentId, resourceId, onScopes, children }: EarlierGrantProps) {
  const grants = useApi(
    'listAgentGrants',
    { params: { agentId }, query: { resourceId, limit: 1 } },
    { staleTime: 0 },
  );
  const [earlier, setEarlier] = useState<readonly string[]>();
  const current = grants.isFetching || grants.error ? undefined : grants.data;
  useEffect(() => {
    if (earlier || !current) return;
    const scopes = current.data[0]?.scopes ?? [];
    setEarlier(scopes);
    onScopes(scopes);
  }, [earlier, current, onScopes]);
  if (earlier) return children(earlier);
  if (grants.error) return <ErrorState error={grants.error} onRetry={() => void grants.refetch()} />;
  return <LoadingState label="Loading the scopes that the agent holds" rows={3} />;
}
