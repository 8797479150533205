import type { AgentFacts } from '../../contract/identity.ts';
import type { Scope } from '../../contract/scopes.ts';
import type { Actor, Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { MaybePromise } from '../../kernel/concurrency/maybe-promise.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { InvalidatingCache } from '../../kernel/data/invalidating-cache.ts';
import type { Page } from '../../kernel/http/page.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Agent, AgentChange, AgentQuery, KeySet, NewAgent, PublicJwk } from './schema.ts';

export interface AgentDeps {
  readonly cache: InvalidatingCache;
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly metrics: Metrics;
  readonly multiTenant: boolean;
  /** For agents that are created without `allowedScopes`, within what the creator may grant. */
  readonly defaultScopes: readonly Scope[];
  /** The organization's plan, locked until the transaction ends; undefined when the organization does not exist. */
  lockOrganization(
    tx: Tx,
    organizationId: string,
  ): Promise<{ planTier: string; maxAgents: number } | undefined>;
  /** FORBIDDEN unless the caller holds all that the agent holds: for keys and for reactivation. */
  refuseImpersonation(tx: Tx, caller: Caller, agent: Agent): Promise<void>;
  /** FORBIDDEN unless the caller may vouch for fields that the agent's tokens for resources carry. */
  refuseClaimChange(tx: Tx, caller: Caller, agent: Agent, fields: readonly string[]): Promise<void>;
  /** Revokes every credential of an agent. */
  revokeCredentialsOf(tx: Tx, agentId: string): Promise<void>;
  /** The key as stored, with a `kid`; throws with a reason when the key is unusable. */
  readPublicKey(key: PublicJwk): Promise<PublicJwk & { kid: string }>;
}

export type AgentToRegister = Omit<NewAgent, 'organization_id' | 'allowedScopes'> & {
  readonly organizationId: string;
  readonly allowedScopes: readonly Scope[];
};

export interface AgentService {
  create(caller: Caller, wanted: NewAgent): Promise<Agent>;
  list(caller: Caller, query: AgentQuery): Promise<Page<Agent>>;
  /** The agent, if the caller may see it; AGENT_NOT_FOUND otherwise. */
  get(caller: Caller, agentId: string): MaybePromise<Agent>;
  /** Without authorization: for features that check access to agents of other organizations themselves. */
  find(agentId: string): Promise<Agent | undefined>;
  update(caller: Caller, agentId: string, change: AgentChange): Promise<Agent>;
  remove(caller: Caller, agentId: string): Promise<void>;
  keys(caller: Caller, agentId: string): Promise<KeySet>;
  putKeys(caller: Caller, agentId: string, wanted: KeySet): Promise<KeySet>;
  /** The insert itself, for callers that have authorized it: `create`, and bootstrap. */
  register(tx: Tx, actor: Actor, wanted: AgentToRegister, agentId?: string): Promise<Agent>;
  /**
   * For every change of an agent, its keys, credentials, policies or listing: the agent, locked until the transaction ends.
   * AGENT_NOT_FOUND unless the caller may see it. FORBIDDEN for an operator's agent, unless the caller is an operator: a caller
   * that cannot create operators cannot end them either.
   */
  lock(tx: Tx, caller: Caller, agentId: string): Promise<Agent>;
  /** Agents that count against the organization's plan: all but the decommissioned. */
  countAgainstPlan(organizationId: string): Promise<number>;
  /** By id, without authorization; agents that do not exist are left out. */
  findAll(agentIds: readonly string[]): Promise<Map<string, Agent>>;
  /** The same, locked until the transaction ends. */
  lockAll(tx: Tx, agentIds: readonly string[]): Promise<Map<string, Agent>>;
  /** The facts for identity documents, without authorization; agents that do not exist are left out. */
  facts(agentIds: readonly string[], within?: Queryable): Promise<AgentFacts[]>;
  /** The oldest active agent that holds the operator's scope. */
  findOperator(tx: Tx): Promise<Agent | undefined>;
}

export interface Agents extends AgentService {
  get(caller: Caller, agentId: string): Promise<Agent>;
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
}
