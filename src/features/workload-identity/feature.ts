/**
 * Workload identity: workloads elsewhere become agents without a secret. A trust policy says which external tokens admit a workload as which
 * agent. Such a token is exchanged for an access token of ours, here or as a client assertion at the token endpoint; as an assertion it
 * also authenticates a request for approval. In the other direction, an agent gets an ID token that clouds accept. Owns
 * `trust_policies`, `trust_policy_uses` and `used_outside_tokens`. The tokens feature mints access tokens;
 * adapters/keys/external-tokens.ts verifies signatures.
 */

import type { FairQueue } from '../../kernel/concurrency/fair-queue.ts';
import { anyTime } from '../../kernel/data/time-range.ts';
import type { ExternalTokens } from '../../kernel/ports/external-tokens.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import type { RecordRefusal } from '../../kernel/refusals.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { AgentService } from '../agents/service.ts';
import type { DelegationService } from '../delegation/service.ts';
import type { OrganizationService } from '../organizations/service.ts';
import type { ProvisionedProofs } from '../provisioned-proofs/feature.ts';
import type { ResourceAccess } from '../resources/access.ts';
import type { Tokens } from '../tokens/feature.ts';
import type { Mint } from '../tokens/grant.ts';
import type { PossessionChecks } from '../tokens/possession.ts';
import { createExchange } from './exchange/exchange.ts';
import { createIdTokens } from './exchange/id-token.ts';
import { createTokenTest } from './exchange/test-token.ts';
import { createPurgeLoop } from './loops.ts';
import { createPolicyService } from './policies/service.ts';
import { listPolicies } from './policies/store.ts';
import { oidcRoutes } from './routes.ts';
import type { TrustPolicy } from './schema.ts';

export {
  backchannelRefusalCodes,
  clientRefusalCodes,
  exchangeRefusalCodes,
  grantRefusalCodes,
} from './exchange/request.ts';
export { findPolicyPower, hasTrustPolicies } from './policies/store.ts';

export interface WorkloadIdentityDeps
  extends Pick<ResourceAccess, 'findGrant' | 'findHeldScopes' | 'audienceScopesOf'>,
    Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'metrics'> {
  readonly recordRefusal: RecordRefusal;
  /** For transactions that exchange a token: limits how many wait for locks, per organization and in all. */
  readonly exchangeQueue: FairQueue;
  readonly signer: Pick<Signer, 'sign'>;
  readonly externalTokens: ExternalTokens;
  /** Our own issuer: tokens that we signed are not external tokens. */
  readonly issuer: string;
  /** Organizations do not know each other: an exchange must name its agent. */
  readonly multiTenant: boolean;
  /** Whether issuers may be reached by plain http: inside the operator's own network. */
  readonly allowHttp: boolean;
  readonly mint: Mint;
  readonly lockAgent: AgentService['lock'];
  readonly refuseImpersonation: OrganizationService['refuseImpersonation'];
  readonly refuseOwnAgent: ProvisionedProofs['refuseOwnAgent'];
  readonly endDelegationsOf: DelegationService['endOfPolicy'];
  readonly roleOf: OrganizationService['roleOf'];
  /** Called after the commit of every exchange. */
  countExchange(agent: { organizationId: string; agentId: string }): void;
  readonly lockEligibility: Tokens['lockEligibility'];
  readonly findEligibility: Tokens['findEligibility'];
  readonly provePossession: PossessionChecks['prove'];
}

export function createWorkloadIdentity(deps: WorkloadIdentityDeps) {
  const exchange = createExchange(deps);
  return {
    routes: oidcRoutes({
      issuer: deps.issuer,
      policies: createPolicyService(deps),
      test: createTokenTest(deps),
      exchange,
      issueIdToken: createIdTokens(deps),
      provePossession: deps.provePossession,
    }),
    loops: [createPurgeLoop(deps)],
    exchange,
    /** The active trust policies of an agent, newest first. */
    listActivePolicies: async (agentId: string, limit: number): Promise<TrustPolicy[]> =>
      (await listPolicies(deps.db, undefined, { agentId, status: 'active', page: 1, limit }, anyTime)).rows,
  };
}

export type WorkloadIdentity = ReturnType<typeof createWorkloadIdentity>;
