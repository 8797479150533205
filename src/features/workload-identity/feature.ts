/**
 * Workload identity: workloads elsewhere become agents without a secret. A trust policy says which external tokens admit a workload as which
 * agent. Such a token is exchanged for an access token of ours, here or as a client assertion at the token endpoint. In the
 * other direction, an agent gets an ID token that clouds accept. Owns `trust_policies`, `trust_policy_uses` and
 * `used_outside_tokens`. The tokens feature mints access tokens; adapters/keys/external-tokens.ts verifies signatures.
 */

import { anyTime } from '../../kernel/data/time-range.ts';
import type { WorkloadIdentity, WorkloadIdentityDeps } from './deps.ts';
import { createExchange } from './exchange/exchange.ts';
import { createIdTokens } from './exchange/id-token.ts';
import { createTokenTest } from './exchange/test-token.ts';
import { createPurgeLoop } from './loops.ts';
import { createPolicyService } from './policies/service.ts';
import { listPolicies } from './policies/store.ts';
import { oidcRoutes } from './routes.ts';

export { clientRefusalCodes, grantRefusalCodes } from './exchange/request.ts';
export { findPolicyPower } from './policies/store.ts';

export function createWorkloadIdentity(deps: WorkloadIdentityDeps): WorkloadIdentity {
  const exchange = createExchange(deps);
  return {
    routes: oidcRoutes({
      issuer: deps.issuer,
      policies: createPolicyService(deps),
      test: createTokenTest(deps),
      exchange,
      issueIdToken: createIdTokens(deps),
    }),
    loops: [createPurgeLoop(deps)],
    exchange,
    listActivePolicies: async (agentId, limit) =>
      (await listPolicies(deps.db, undefined, { agentId, status: 'active', page: 1, limit }, anyTime)).rows,
  };
}
