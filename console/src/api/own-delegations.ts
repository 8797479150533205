/** The delegations of the person in the session: which agents act for them. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { DelegationChain } from './generated.ts';
import { sendJson } from './request.ts';

export interface Consent extends DelegationChain {
  /** The scopes that it gives now. */
  readonly effectiveScopes: readonly string[];
  /** The e-mail address of the agent. */
  readonly agentName: string;
  /** Of a client that came by a metadata document, with the name in it. */
  readonly clientUri: string | null;
  readonly clientName: string | null;
  /** Null: our own API. */
  readonly resourceName: string | null;
  readonly lastUsedAt: string | null;
}

interface ConsentPage {
  readonly data: readonly Consent[];
  readonly total: number;
  readonly page: number;
  readonly limit: number;
}

interface ConsentQuery {
  readonly status: Consent['status'];
  readonly page: number;
  readonly limit: number;
}

const path = '/console/api/me/delegations';
const key = 'ownDelegations';

export const useConsents = (query: ConsentQuery) =>
  useQuery({
    queryKey: [key, query],
    queryFn: async ({ signal }) => {
      const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
      return (await sendJson('GET', `${path}?${text}`, undefined, { signal })) as ConsentPage;
    },
    placeholderData: keepPreviousData,
  });

export function useConsentRevocation() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (chainId: string) => sendJson('DELETE', `${path}/${encodeURIComponent(chainId)}`),
    onSuccess: () => client.invalidateQueries({ queryKey: [key] }),
  });
}
