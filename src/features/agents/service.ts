import { isDeepStrictEqual } from 'node:util';
import type { AgentFacts } from '../../contract/identity.ts';
import { operatorScope, type Scope, scopes } from '../../contract/scopes.ts';
import {
  type Actor,
  type Caller,
  isOperator,
  refuseBorrowedScope,
  refuseEscalation,
  tenantOf,
} from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import { createBatcher } from '../../kernel/concurrency/batcher.ts';
import { andThen, type MaybePromise } from '../../kernel/concurrency/maybe-promise.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { refuseProof } from '../../kernel/http/input/proofs.ts';
import { timeRangeOf } from '../../kernel/http/input/time-range.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { bodyError, refuseClientEmail, refuseNotificationUri, refuseRedirectUris } from './address-checks.ts';
import { createAgentCache } from './agent-cache.ts';
import { type ClientAgents, createClientAgents } from './client-agents.ts';
import { eventSubject } from './events.ts';
import type { AgentDeps } from './feature.ts';
import { readKeys, readPublishedKeys, type StoredKey } from './keys.ts';
import type { Agent, AgentChange, AgentQuery, KeySet, ListedAgent, NewAgent } from './schema.ts';
import {
  countAgainstPlan,
  findAgents,
  findFacts,
  findKeys,
  findOperator,
  insertAgent,
  type LockedAgent,
  listAgents,
  lockAgent,
  lockAgentsShared,
  lockEmail,
  updateAgent,
  updateKeys,
} from './store.ts';
import { eventOf } from './transitions.ts';

type AgentToRegister = Omit<NewAgent, 'organization_id' | 'allowedScopes'> & {
  readonly organizationId: string;
  readonly allowedScopes: readonly Scope[];
  readonly status?: Agent['status'];
  readonly clientUri?: string;
  /** The person who registers it, through the console or an agent. */
  readonly registeredBy?: string | undefined;
};

export interface AgentService extends ClientAgents {
  create(caller: Caller, wanted: NewAgent): Promise<Agent>;
  list(caller: Caller, query: AgentQuery): Promise<Page<ListedAgent>>;
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
  /** The usable keys of a published JWK set. */
  readPublishedKeys(published: unknown): Promise<StoredKey[]>;
  /** The oldest active agent that holds the operator's scope. */
  findOperator(tx: Tx): Promise<Agent | undefined>;
}

export function createAgentService(deps: AgentDeps): AgentService {
  const {
    db,
    clock,
    ids,
    ledger,
    metrics,
    multiTenant,
    defaultScopes,
    lockOrganization,
    refuseImpersonation,
    refuseClaimChange,
    revokeCredentialsOf,
    readPublicKey,
    refuseOwnAgent,
    hasActiveCredentials,
    hasTrustPolicies,
    secretExpiries,
    lastTokenDates,
    countGrants,
  } = deps;

  const findAgent = createBatcher({
    name: 'agents.find',
    run: (agentIds: readonly string[]) => findAgents(db, agentIds),
    maxBatch: 100,
    concurrency: 1,
    maxQueue: 2_000,
    metrics,
  });

  const readCached = createAgentCache(deps, findAgent);

  const register: AgentService['register'] = async (
    tx,
    actor,
    { registeredBy, ...wanted },
    agentId = ids.uuid(),
  ) => {
    const now = isoTime(clock);
    const agent: Agent = {
      displayName: null,
      labels: {},
      redirectUris: [],
      publicClient: false,
      clientUri: null,
      notificationUri: null,
      dpopBoundAccessTokens: false,
      status: 'active',
      ...wanted,
      agentId,
      allowedScopes: inContractOrder(wanted.allowedScopes),
      rateLimitPerMinute: wanted.rateLimitPerMinute ?? null,
      createdAt: now,
      updatedAt: now,
    };
    await reserveAgentSlot(tx, agent.organizationId);
    // With many tenants an address is unique within its organization: a 409 must not tell of another tenant's agents.
    const isTaken = !multiTenant && (await lockEmail(tx, agent.email)).isTaken;
    if (isTaken || !(await insertAgent(tx, agent, registeredBy)))
      fail('AGENT_ALREADY_EXISTS', { details: { field: 'email' } });
    await ledger.record(tx, actor, 'agent.created', eventSubject(agent));
    tx.afterCommit(() =>
      metrics.count('service_agents_registered_total', { deployment_env: agent.deploymentEnv }),
    );
    return agent;
  };

  /** The plan is locked until commit: of concurrent requests for the last slot exactly one succeeds. */
  const reserveAgentSlot = async (tx: Tx, organizationId: string) => {
    const plan = (await lockOrganization(tx, organizationId)) ?? fail('ORG_NOT_FOUND');
    const { planTier, maxAgents } = plan;
    if ((await countAgainstPlan(tx, organizationId)) < maxAgents) return;
    metrics.count('service_billing_limit_rejections_total', {
      org_id: organizationId,
      limit_type: 'max_agents',
    });
    fail('FREE_TIER_LIMIT_EXCEEDED', {
      message: `This organization (plan: ${planTier}) may have at most ${maxAgents} agent${maxAgents === 1 ? '' : 's'}.`,
      details: { tier: planTier, limitType: 'max_agents', limit: maxAgents },
    });
  };

  const organizationFor = (caller: Caller, requested: string | undefined): string => {
    if (requested === undefined && multiTenant) {
      throw validationError('body', [
        { in: 'body', field: 'organization_id', message: 'is required on a multi-tenant instance' },
      ]);
    }
    // UUIDs are case-insensitive; PostgreSQL returns them in lower case.
    const organizationId = requested?.toLowerCase() ?? caller.organizationId;
    if (organizationId !== caller.organizationId && !isOperator(caller)) {
      fail('FORBIDDEN', {
        message: 'Agents can be created in your own organization only; another needs scope admin:orgs.',
      });
    }
    return organizationId;
  };

  const lock = async (tx: Tx, caller: Caller, agentId: string): Promise<LockedAgent> => {
    const agent = (await lockAgent(tx, tenantOf(caller), agentId)) ?? fail('AGENT_NOT_FOUND');
    if (agent.allowedScopes.includes(operatorScope) && !isOperator(caller)) {
      fail('FORBIDDEN', {
        message: "This is an operator's agent; only an operator (scope admin:orgs) can change it.",
      });
    }
    return agent;
  };

  /** Reactivation restores the agent's power, so it needs the same right as giving the agent a secret. */
  const refuseReactivation = async (tx: Tx, caller: Caller, agent: LockedAgent): Promise<void> => {
    if (agent.suspendedByOperator && !isOperator(caller)) {
      fail('FORBIDDEN', {
        message:
          'An operator has suspended this agent; only an operator (scope admin:orgs) can reactivate it.',
      });
    }
    await refuseImpersonation(tx, caller, agent);
  };

  /**
   * A redirect URI receives the agent's codes, a public client redeems them without a secret, and without demanded proofs a stolen secret is
   * enough again: the same right as for a secret.
   */
  const authorizeClientChange = async (tx: Tx, caller: Caller, before: Agent, changed: readonly string[]) => {
    const fields = changed.filter((field) => clientFields.has(field));
    if (fields.length === 0) return;
    if (before.clientUri !== null)
      throw bodyError(fields.map((field) => [field, "is given by the client's metadata document"]));
    const onlyDemandsProofs =
      fields.every((field) => field === 'dpopBoundAccessTokens') && !before.dpopBoundAccessTokens;
    if (!onlyDemandsProofs) await refuseImpersonation(tx, caller, before);
    if (!fields.includes('publicClient') || before.publicClient) return;
    const hasProofs =
      (await hasActiveCredentials(tx, before.agentId)) ||
      (await hasTrustPolicies(tx, before.agentId)) ||
      (await findKeys(tx, undefined, before.agentId))?.length !== 0;
    if (hasProofs)
      throw bodyError([
        ['publicClient', 'cannot be true for an agent with active credentials, keys or trust policies'],
      ]);
  };

  /** Every change of an existing agent: authorization, the update, revocation of credentials, the audit event. */
  const apply = async (tx: Tx, caller: Caller, before: LockedAgent, change: AgentChange): Promise<Agent> => {
    const changed = changedFields(before, change);
    const suspendedByOperator = isSuspendedByOperator(caller, before, change);
    if (changed.length === 0 && suspendedByOperator === before.suspendedByOperator) return before;
    const after: LockedAgent = { ...before, ...change, suspendedByOperator, updatedAt: isoTime(clock) };
    const event = eventOf(before.status, after.status);
    if (event === 'agent.reactivated') await refuseReactivation(tx, caller, before);
    await authorizeClientChange(tx, caller, before, changed);
    await refuseClaimChange(tx, caller, before, changed);
    await updateAgent(tx, after);
    if (after.status === 'decommissioned') await revokeCredentialsOf(tx, after.agentId);
    const metadata = { changed, ...(suspendedByOperator && { suspendedByOperator }) };
    await ledger.record(tx, caller, event, eventSubject(after, metadata));
    return after;
  };

  const withActivity = async (agents: readonly Agent[]): Promise<ListedAgent[]> => {
    const agentIds = agents.map(({ agentId }) => agentId);
    const [dates, expiries, grants] = await Promise.all([
      lastTokenDates(agents),
      secretExpiries(agentIds),
      countGrants(db, agentIds),
    ]);
    return agents.map((agent) => ({
      ...agent,
      lastTokenDate: dates.get(agent.agentId) ?? null,
      secretExpiresAt: expiries.get(agent.agentId) ?? null,
      grantedApis: grants.get(agent.agentId) ?? 0,
    }));
  };

  return {
    register,
    ...createClientAgents(deps, register),
    readPublishedKeys: (published) => readPublishedKeys(published, readPublicKey),

    async create(caller, { organization_id, allowedScopes, ...wanted }) {
      refuseClientEmail(wanted.email);
      refuseRedirectUris(wanted.redirectUris);
      refuseNotificationUri(wanted.notificationUri);
      if (wanted.redirectUris?.length) refuseBorrowedRegistration(caller);
      const granted = allowedScopes ?? defaultScopes.filter((scope) => caller.grantableScopes.has(scope));
      refuseEscalation(caller, granted);
      refuseOwnLimit(caller, wanted.rateLimitPerMinute ?? null, null);
      const organizationId = organizationFor(caller, organization_id);
      return db.transaction((tx) =>
        register(tx, caller, {
          ...wanted,
          organizationId,
          allowedScopes: granted,
          registeredBy: personBehind(caller),
        }),
      );
    },

    async list(caller, query) {
      const { rows, total } = await listAgents(db, tenantOf(caller), query, timeRangeOf(query));
      return pageOf(query, query.include === 'activity' ? await withActivity(rows) : rows, total);
    },

    get(caller, agentId) {
      const tenant = tenantOf(caller);
      const isVisible = (agent: Agent) => tenant === undefined || agent.organizationId === tenant;
      return andThen(readCached(agentId, isVisible), (agent) => agent ?? fail('AGENT_NOT_FOUND'));
    },

    find: findAgent,

    async update(caller, agentId, requested) {
      refuseRedirectUris(requested.redirectUris);
      refuseNotificationUri(requested.notificationUri);
      return db.transaction(async (tx) => {
        const before = await lock(tx, caller, agentId);
        if (before.status === 'decommissioned') fail('AGENT_DECOMMISSIONED');
        const change = requested.allowedScopes
          ? { ...requested, allowedScopes: inContractOrder(requested.allowedScopes) }
          : requested;
        // Narrowing counts too: the caller could reduce an agent to its own scopes and then give it a secret.
        if (change.allowedScopes && !isDeepStrictEqual(change.allowedScopes, before.allowedScopes)) {
          await refuseOwnAgent(tx, caller, before.agentId);
          refuseEscalation(caller, [...before.allowedScopes, ...change.allowedScopes]);
        }
        if (change.rateLimitPerMinute !== undefined)
          refuseOwnLimit(caller, change.rateLimitPerMinute, before.rateLimitPerMinute);
        return apply(tx, caller, before, change);
      });
    },

    async remove(caller, agentId) {
      await db.transaction(async (tx) => {
        const before = await lock(tx, caller, agentId);
        if (before.status === 'decommissioned') fail('AGENT_ALREADY_DECOMMISSIONED');
        await apply(tx, caller, before, { status: 'decommissioned' });
      });
    },

    async keys(caller, agentId) {
      return { keys: (await findKeys(db, tenantOf(caller), agentId)) ?? fail('AGENT_NOT_FOUND') };
    },

    async putKeys(caller, agentId, wanted) {
      const keys = await readKeys(wanted, readPublicKey);
      return db.transaction(async (tx) => {
        const agent = await lock(tx, caller, agentId);
        if (agent.status === 'decommissioned') fail('AGENT_DECOMMISSIONED');
        await refuseImpersonation(tx, caller, agent);
        refuseProof(agent, { in: 'body', field: 'keys' });
        await updateKeys(tx, agent.agentId, keys, isoTime(clock));
        const kids = keys.map(({ kid }) => kid);
        await ledger.record(tx, caller, 'agent.updated', eventSubject(agent, { changed: ['keys'], kids }));
        return { keys };
      });
    },

    lock,
    countAgainstPlan: (organizationId) => countAgainstPlan(db, organizationId),
    findAll: async (agentIds) =>
      byId((await findAgents(db, agentIds)).filter((agent) => agent !== undefined)),
    lockAll: async (tx, agentIds) => byId(await lockAgentsShared(tx, agentIds)),
    facts: (agentIds, within = db) => findFacts(within, agentIds),
    findOperator,
  };
}

/** In the session, or at the beginning of the chain by which an agent acts. */
const personBehind = ({ person, delegation }: Caller): string | undefined =>
  person?.personId ?? (delegation?.subjectType === 'person' ? delegation.subjectId : undefined);

const byId = (agents: readonly Agent[]) => new Map(agents.map((agent) => [agent.agentId, agent]));

/** People are told that an administrator has registered the client, and can consent to it after the delegation has ended. */
const refuseBorrowedRegistration = (caller: Caller): void =>
  refuseBorrowedScope(
    caller,
    'agents:write',
    'A delegated token can register a client with redirect URIs only if your own agent may hold agents:write.',
  );

const clientFields: ReadonlySet<string> = new Set(['redirectUris', 'publicClient', 'dpopBoundAccessTokens']);

/** The limit protects the instance from its tenants, so a tenant cannot set it. Repeating the present value is no change. */
function refuseOwnLimit(caller: Caller, wanted: number | null, present: number | null): void {
  if (wanted !== present && !isOperator(caller))
    fail('FORBIDDEN', { message: 'Only an operator (scope admin:orgs) can set rateLimitPerMinute.' });
}

/** Only an operator lifts an operator's suspension. An operator can also take over a suspension by the organization. */
const isSuspendedByOperator = (caller: Caller, before: LockedAgent, { status }: AgentChange): boolean => {
  const operatorSuspends = status === 'suspended' && isOperator(caller);
  const wasByOperator = before.status === 'suspended' && before.suspendedByOperator;
  return (status ?? before.status) === 'suspended' && (operatorSuspends || wasByOperator);
};

const changedFields = (before: Agent, change: AgentChange): string[] =>
  Object.entries(change)
    .filter(([field, value]) => !isDeepStrictEqual(value, before[field as keyof AgentChange]))
    .map(([field]) => field);

const inContractOrder = (granted: readonly Scope[]): Scope[] =>
  scopes.filter((scope) => granted.includes(scope));
