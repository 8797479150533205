/** Exchanges an external token for an access token of ours: the agent's own, or one that another grant gives to the agent. */

import { failToken } from '../../../kernel/fail.ts';
import { isRefused } from '../../../kernel/ports/external-tokens.ts';
import type { ExternalClientAssertion, IssuedToken } from '../../tokens/grant.ts';
import type { WorkloadIdentityDeps } from '../feature.ts';
import {
  type AuthenticateWorkload,
  createAuthenticateWorkload,
  parseScopes,
} from './authenticate-workload.ts';
import type { RefusalCodes } from './request.ts';

export interface Exchange {
  /** Whether an assertion is of another issuer, not the client's own: its issuer is a URL, and is not its subject. */
  isExternal(assertion: string): boolean;
  redeem(assertion: ExternalClientAssertion, audience: string, codes: RefusalCodes): Promise<IssuedToken>;
  readonly authenticateWorkload: AuthenticateWorkload;
}

export function createExchange(deps: WorkloadIdentityDeps): Exchange {
  const { externalTokens, issuer, metrics, mint, countExchange } = deps;
  const authenticateWorkload = createAuthenticateWorkload(deps);

  return {
    authenticateWorkload,

    redeem: (assertion, audience, endpointCodes) => {
      // The spec's own words are for our own API only.
      const codes =
        audience === issuer ? endpointCodes : { ...endpointCodes, scope: 'invalid_scope' as const };
      return authenticateWorkload(
        assertion,
        codes,
        async (tx, client) => {
          const { agentId, scopes: policyScopes, trustPolicyId, auditMetadata: metadata = {} } = client;
          const requested = parseScopes(assertion.scope);
          const { origin } = assertion;
          const exact = requested.length > 0;
          const scopes = exact ? requested : policyScopes;
          const issued = await mint(tx, {
            origin,
            agentId,
            scopes,
            exact,
            audience,
            metadata,
            keyProof: client.keyProof,
            ...(trustPolicyId !== undefined && { trustPolicyId }),
          });
          if (requested.length > 0 && parseScopes(issued.scope).length < new Set(requested).size)
            failToken(codes.scope, `invalid scope: this agent may hold ${issued.scope || 'none of these'}`);
          tx.afterCommit(() => {
            metrics.count('service_oidc_tokens_issued_total', {});
            countExchange(client);
          });
          return issued;
        },
        audience,
      );
    },

    isExternal(assertion) {
      const token = externalTokens.read(assertion);
      return !isRefused(token) && /^https?:\/\//i.test(token.issuer) && token.issuer !== token.claims.sub;
    },
  };
}
