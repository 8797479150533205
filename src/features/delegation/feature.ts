/**
 * Delegation (RFC 8693): an agent lets another act on its behalf, with some of its scopes, for a limited time, revocably. Owns
 * `delegations`. A delegation token refers to a link and is no access token: the delegatee exchanges it at the token endpoint of
 * the tokens feature, by the grant described here. Scopes, audiences and time only narrow from link to link.
 */

import type { Caller, Delegation } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Tx } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Grant } from '../../kernel/ports/grant.ts';
import type { ResourceAccess } from '../../kernel/ports/resources.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import type { FindPolicyPower } from '../../kernel/ports/trust-policies.ts';
import { createPurgeLoop } from './loops.ts';
import { delegationRoutes } from './routes.ts';
import { createDelegationService, type ReceivedDelegation } from './service.ts';
import { findLinkStatuses, type LinkStatus } from './store.ts';
import { createTokenExchange } from './token-exchange.ts';

export { revokeChainsWithAgent } from './revoke-with-agent.ts';

export interface ChainAgent {
  readonly agentId: string;
  readonly organizationId: string;
  readonly status: string;
  readonly allowedScopes: readonly string[];
}

export interface DelegationDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly metrics: Metrics;
  readonly signer: Signer;
  readonly issuer: string;
  /** Whether tokens are issued for audiences that no organization has registered. */
  readonly unregisteredResources: 'allow' | 'refuse';
  readonly findGrant: ResourceAccess['findGrant'];
  readonly findGrants: ResourceAccess['findGrants'];
  /** By id; agents that do not exist are left out. */
  findAgents(agentIds: readonly string[]): Promise<ReadonlyMap<string, ChainAgent>>;
  /** The same; the agents do not change until the transaction ends. */
  lockAgents(tx: Tx, agentIds: readonly string[]): Promise<ReadonlyMap<string, ChainAgent>>;
  organizationStatusOf(organizationId: string): Promise<string | undefined>;
  /** Whether the caller administers its own organization. */
  isAdmin(caller: Caller): Promise<boolean>;
  /** The power of the caller's trust policy now. */
  readonly findPolicyPower: FindPolicyPower;
  /** Undefined unless it is a valid access token of ours, or one whose chain has ended. */
  verifyAccessToken(
    token: string,
  ): Promise<{ claims: { scope: string; aud: string }; delegation?: Delegation } | undefined>;
  /** Counts usage; called after the commit. */
  count(
    metric: 'delegations_created' | 'token_exchanges',
    agent: { organizationId: string; agentId: string },
  ): void;
}

export interface Delegations {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
  readonly grant: Grant;
  /** In the order of the ids; links that do not exist are left out. */
  findLinkStatuses(chainIds: readonly string[]): Promise<LinkStatus[]>;
  /**
   * Ends the chains that a workload made by the trust policy, with all chains below them. With scopes: only those that begin with
   * scopes beyond these. The caller has locked the agent of the policy.
   */
  endOfPolicy(tx: Tx, caller: Caller, policyId: string, scopes?: readonly string[]): Promise<void>;
  /** The active chains that end with this agent, newest first, with the scopes that it can get by them now. */
  listReceived(agentId: string, limit: number): Promise<ReceivedDelegation[]>;
}

export function createDelegations(deps: DelegationDeps): Delegations {
  const service = createDelegationService(deps);
  return {
    routes: delegationRoutes(service),
    loops: [createPurgeLoop(deps)],
    grant: createTokenExchange(deps),
    findLinkStatuses: (chainIds) => findLinkStatuses(deps.db, chainIds),
    endOfPolicy: service.endOfPolicy,
    listReceived: service.listReceived,
  };
}
