import type { AgentFacts } from '../../contract/identity.ts';
import { operatorScope } from '../../contract/scopes.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { lockExclusive, lockShared } from '../../kernel/data/locks.ts';
import { join, listOf, prepared, type Sql, sql } from '../../kernel/data/sql.ts';
import { createdWithin, type TimeRange } from '../../kernel/data/time-range.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import type { Agent, AgentQuery, PublicJwk } from './schema.ts';

const columns = sql`
  agent_id as "agentId", organization_id as "organizationId", email, display_name as "displayName",
  labels, agent_type as "agentType", version, capabilities, owner, deployment_env as "deploymentEnv", status,
  allowed_scopes as "allowedScopes", rate_limit_per_minute as "rateLimitPerMinute", redirect_uris as "redirectUris", public_client as "publicClient",
  client_uri as "clientUri", notification_uri as "notificationUri",
  dpop_bound_access_tokens as "dpopBoundAccessTokens", created_at as "createdAt", updated_at as "updatedAt"`;

/** An agent read for a change, with the fields that are not on the wire. */
export interface LockedAgent extends Agent {
  /** Only an operator can then reactivate it. False unless it is suspended. */
  readonly suspendedByOperator: boolean;
}

/** Undefined for operators: every organization. */
const ofTenant = (organizationId: string | undefined) =>
  organizationId === undefined ? sql`true` : sql`organization_id = ${organizationId}`;

/**
 * Whether another organization's agent has the address. Of transactions with the same address, the others wait until this one ends,
 * so that exactly one of them finds it free.
 */
export async function lockEmail(tx: Queryable, email: string): Promise<{ readonly isTaken: boolean }> {
  await lockExclusive(tx, 'agentEmail', [email.toLowerCase()]);
  return tx.one(
    'agents.findByEmail',
    sql`select exists (select from agents where lower(email) = lower(${email})) as "isTaken"`,
  );
}

/** What a filter may name: each key, and each key with its value. */
const termsOf = (labels: Agent['labels']): string[] =>
  Object.entries(labels).flatMap(([key, value]) => [key, `${key}:${value}`]);

/** False when the e-mail is taken within the organization; or in any, as long as the index of earlier versions exists. */
export async function insertAgent(db: Queryable, agent: Agent, registeredBy?: string): Promise<boolean> {
  const inserted = await db.run(
    'agents.insert',
    sql`insert into agents
          (agent_id, organization_id, email, display_name, labels, label_terms, agent_type, version, capabilities, owner,
           deployment_env, status, allowed_scopes, rate_limit_per_minute, redirect_uris, public_client, client_uri,
           notification_uri, dpop_bound_access_tokens, created_at, updated_at, registered_by)
        values
          (${agent.agentId}, ${agent.organizationId}, ${agent.email}, ${agent.displayName}, ${JSON.stringify(agent.labels)},
           ${termsOf(agent.labels)}, ${agent.agentType}, ${agent.version}, ${agent.capabilities}, ${agent.owner},
           ${agent.deploymentEnv}, ${agent.status}, ${agent.allowedScopes}, ${agent.rateLimitPerMinute}, ${agent.redirectUris},
           ${agent.publicClient}, ${agent.clientUri}, ${agent.notificationUri}, ${agent.dpopBoundAccessTokens}, ${agent.createdAt}, ${agent.updatedAt}, ${registeredBy ?? null})
        on conflict do nothing`,
  );
  return inserted === 1;
}

/** In the order of the ids. */
export async function findAgents(db: Queryable, agentIds: readonly string[]): Promise<(Agent | undefined)[]> {
  const rows = await db.many<Agent>(
    'agents.find',
    prepared(sql`select ${columns} from agents where agent_id = any(${listOf(agentIds)}::uuid[])`),
  );
  const found = new Map(rows.map((agent) => [agent.agentId, agent]));
  return agentIds.map((agentId) => found.get(agentId.toLowerCase()));
}

/** With their public keys. */
export const findFacts = (db: Queryable, agentIds: readonly string[]): Promise<AgentFacts[]> =>
  db.many(
    'agents.facts',
    sql`select ${columns}, public_keys as "publicKeys" from agents where agent_id = any(${agentIds}::uuid[])`,
  );

/**
 * A change of status ends the agent's tokens: a trigger counts `epoch` (migration 0036). Nodes of earlier versions compare times.
 * `tokens_ended_at` takes the latest of the clocks, because the clocks of the nodes may differ. It always increases: new tokens are
 * dated after the previous end (features/tokens/draft-token.ts), and the next must end those too.
 */
export async function updateAgent(db: Queryable, agent: LockedAgent): Promise<void> {
  await db.run(
    'agents.update',
    sql`update agents
        set display_name = ${agent.displayName}, labels = ${JSON.stringify(agent.labels)},
            label_terms = ${termsOf(agent.labels)}, agent_type = ${agent.agentType}, version = ${agent.version},
            capabilities = ${agent.capabilities},
            owner = ${agent.owner}, deployment_env = ${agent.deploymentEnv}, status = ${agent.status},
            allowed_scopes = ${agent.allowedScopes}, rate_limit_per_minute = ${agent.rateLimitPerMinute},
            redirect_uris = ${agent.redirectUris}, public_client = ${agent.publicClient},
            notification_uri = ${agent.notificationUri}, dpop_bound_access_tokens = ${agent.dpopBoundAccessTokens},
            updated_at = ${agent.updatedAt},
            suspended_by_operator = ${agent.suspendedByOperator},
            tokens_ended_at = case when status = ${agent.status} then tokens_ended_at
              else greatest(tokens_ended_at + interval '1 millisecond', ${agent.updatedAt},
                            date_trunc('milliseconds', clock_timestamp())) end
        where agent_id = ${agent.agentId}`,
  );
}

/** The agent, locked exclusively until the transaction ends. */
export async function lockAgent(
  tx: Queryable,
  tenant: string | undefined,
  agentId: string,
): Promise<LockedAgent | undefined> {
  const found = await tx.maybe<{ agentId: string }>(
    'agents.findForLock',
    sql`select agent_id as "agentId" from agents where agent_id = ${agentId} and ${ofTenant(tenant)}`,
  );
  // Read first: a caller cannot lock agents that it may not see.
  if (!found) return undefined;
  await lockExclusive(tx, 'agent', [found.agentId]);
  return tx.maybe(
    'agents.lock',
    sql`select ${columns}, suspended_by_operator as "suspendedByOperator" from agents
        where agent_id = ${agentId} and ${ofTenant(tenant)} for no key update`,
  );
}

/** The agents that exist, under a shared lock until the transaction ends. */
export async function lockAgentsShared(tx: Queryable, agentIds: readonly string[]): Promise<Agent[]> {
  await lockShared(tx, 'agent', agentIds);
  return tx.many(
    'agents.lockShared',
    sql`select ${columns} from agents where agent_id = any(${agentIds}::uuid[]) order by agent_id for share`,
  );
}

/** `like` has two wildcards and an escape character. */
const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

const registered = { manual: sql`client_uri is null`, document: sql`client_uri is not null` } as const;

/** Each has an index in either direction, for one organization and for all. */
const sortKeys = {
  createdAt: sql`created_at`,
  email: sql`lower(email)`,
  name: sql`lower(coalesce(display_name, email))`,
} as const;
const directions = { asc: sql`asc`, desc: sql`desc` } as const;

/** Filters that `agent_counts` does not know. Each has an index; the migrations 0026 and 0049 have those of prefixes, capabilities and labels. */
function freeFilters(
  { ids, owner, email, q, deploymentEnv, capability, label, registration }: AgentQuery,
  range: TimeRange,
): Sql[] {
  const prefix = q === undefined ? undefined : sql`lower(${escapeLike(q)}) || '%'`;
  return [
    ...(ids === undefined ? [] : [sql`agent_id = any(${ids.split(',')}::uuid[])`]),
    ...(owner === undefined ? [] : [sql`owner = ${owner}`]),
    ...(email === undefined ? [] : [sql`lower(email) = lower(${email})`]),
    ...(prefix === undefined
      ? []
      : [
          sql`(lower(email) like ${prefix} or lower(display_name) like ${prefix} or lower(owner) like ${prefix})`,
        ]),
    ...(deploymentEnv === undefined ? [] : [sql`deployment_env = ${deploymentEnv}`]),
    ...(capability === undefined ? [] : [sql`capabilities @> array[${capability}]`]),
    ...(label === undefined ? [] : [sql`label_terms @> ${label}::text[]`]),
    ...(registration === undefined ? [] : [registered[registration]]),
    ...createdWithin(range),
  ];
}

export async function listAgents(
  db: Queryable,
  tenant: string | undefined,
  query: AgentQuery,
  range: TimeRange,
) {
  const { organizationId, agentType, status, sort = 'createdAt' } = query;
  const direction = directions[query.order ?? (sort === 'createdAt' ? 'desc' : 'asc')];
  const counted = [
    ofTenant(tenant),
    ...(organizationId === undefined ? [] : [sql`organization_id = ${organizationId}`]),
    ...(agentType === undefined ? [] : [sql`agent_type = ${agentType}`]),
    ...(status === undefined ? [] : [sql`status = ${status}`]),
  ];
  const free = freeFilters(query, range);
  const matches = join([...counted, ...free], ' and ');
  const rows = await db.many<Agent>(
    'agents.list',
    sql`select ${columns} from agents where ${matches}
        order by ${sortKeys[sort]} ${direction}, agent_id ${direction} limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'agents.count',
    free.length === 0
      ? sql`select coalesce(sum(agents), 0)::bigint as total from agent_counts where ${matches}`
      : sql`select count(*) as total from agents where ${matches}`,
  );
  return { rows, total };
}

/** All agents but the decommissioned. */
export async function countAgainstPlan(db: Queryable, organizationId: string): Promise<number> {
  const { total } = await db.one<{ total: number }>(
    'agents.countAgainstPlan',
    sql`select coalesce(sum(agents), 0)::bigint as total from agent_counts
        where organization_id = ${organizationId} and status <> 'decommissioned'`,
  );
  return total;
}

export async function findKeys(
  db: Queryable,
  tenant: string | undefined,
  agentId: string,
): Promise<PublicJwk[] | undefined> {
  const row = await db.maybe<{ keys: PublicJwk[] }>(
    'agents.findKeys',
    sql`select public_keys as keys from agents where agent_id = ${agentId} and ${ofTenant(tenant)}`,
  );
  return row?.keys;
}

export async function updateKeys(
  db: Queryable,
  agentId: string,
  keys: readonly PublicJwk[],
  now: string,
): Promise<void> {
  await db.run(
    'agents.updateKeys',
    sql`update agents set public_keys = ${JSON.stringify(keys)}, updated_at = ${now} where agent_id = ${agentId}`,
  );
}

export const findOperator = (db: Queryable): Promise<Agent | undefined> =>
  db.maybe(
    'agents.findOperator',
    sql`select ${columns} from agents
        where status = 'active' and allowed_scopes @> array[${operatorScope}]::text[]
        order by created_at, agent_id limit 1`,
  );
