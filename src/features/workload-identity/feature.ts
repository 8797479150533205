/**
 * Workload identity: workloads elsewhere become agents without a secret. A trust policy says which external tokens admit a workload as which
 * agent. Such a token is exchanged for an access token of ours, here or as a client assertion at the token endpoint. In the
 * other direction, an agent gets an ID token that clouds accept. Owns `trust_policies`, `trust_policy_uses` and
 * `used_outside_tokens`. The tokens feature mints access tokens; adapters/keys/external-tokens.ts verifies signatures.
 */

import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { FairQueue } from '../../kernel/concurrency/fair-queue.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import { anyTime } from '../../kernel/data/time-range.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Role } from '../../kernel/policy.ts';
import type { ExternalTokens } from '../../kernel/ports/external-tokens.ts';
import type { Mint } from '../../kernel/ports/grant.ts';
import type { ResourceAccess } from '../../kernel/ports/resources.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import type { RecordRefusal } from '../../kernel/refusals.ts';
import { createExchange, type Exchange } from './exchange/exchange.ts';
import { createIdTokens } from './exchange/id-token.ts';
import { createTokenTest } from './exchange/test-token.ts';
import { createPurgeLoop } from './loops.ts';
import { createPolicyService } from './policies/service.ts';
import { listPolicies } from './policies/store.ts';
import { oidcRoutes } from './routes.ts';
import type { TrustPolicy } from './schema.ts';

export { clientRefusalCodes, grantRefusalCodes } from './exchange/request.ts';
export { findPolicyPower } from './policies/store.ts';

/** The agent that a trust policy is for. */
export interface PolicyAgent {
  readonly agentId: string;
  readonly organizationId: string;
  readonly status: 'active' | 'suspended' | 'decommissioned';
  readonly allowedScopes: readonly string[];
}

export interface TokenEligibility {
  readonly organizationId: string;
  /** Why the agent gets no token now; absent when it can get one. */
  readonly problem?: string;
}

export interface WorkloadIdentityDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly recordRefusal: RecordRefusal;
  /** For transactions that exchange a token: limits how many wait for locks, per organization and in all. */
  readonly exchangeQueue: FairQueue;
  readonly metrics: Metrics;
  readonly signer: Pick<Signer, 'sign'>;
  readonly externalTokens: ExternalTokens;
  /** Our own issuer: tokens that we signed are not external tokens. */
  readonly issuer: string;
  /** Organizations do not know each other: an exchange must name its agent. */
  readonly multiTenant: boolean;
  /** Whether issuers may be reached by plain http: inside the operator's own network. */
  readonly allowHttp: boolean;
  readonly mint: Mint;
  /** Whether tokens are issued for audiences that no organization has registered. */
  readonly unregisteredResources: 'allow' | 'refuse';
  readonly findGrant: ResourceAccess['findGrant'];
  /** The agent, locked until the transaction ends, for a change of its trust policies; AGENT_NOT_FOUND, FORBIDDEN. */
  lockAgent(tx: Tx, caller: Caller, agentId: string): Promise<PolicyAgent>;
  /** FORBIDDEN unless the caller holds all that the agent holds: the writer of a trust policy can become its agent. */
  refuseImpersonation(tx: Tx, caller: Caller, agent: PolicyAgent): Promise<void>;
  /** Ends the delegations that workloads made by the policy, and that go beyond these scopes; all of them without scopes. */
  endDelegationsOf(tx: Tx, caller: Caller, policyId: string, scopes?: readonly string[]): Promise<void>;
  /** The caller's role in its own organization. */
  roleOf(caller: Caller, within: Queryable): Promise<Role>;
  /** Called after the commit of every exchange. */
  countExchange(agent: { organizationId: string; agentId: string }): void;
  /** Whether the agent can get a token, locked until the transaction ends; undefined when the agent does not exist. */
  lockEligibility(tx: Tx, agentId: string): Promise<TokenEligibility | undefined>;
  /** The same, read without locks. */
  findEligibility(db: Queryable, agentId: string): Promise<TokenEligibility | undefined>;
}

export interface WorkloadIdentity {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
  readonly exchange: Exchange;
  /** The active trust policies of an agent, newest first. */
  listActivePolicies(agentId: string, limit: number): Promise<TrustPolicy[]>;
}

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
