/** Reads that other features need of resources and grants. */
import type { Queryable } from '../../kernel/data/db.ts';
import { join, prepared, type Sql, sql } from '../../kernel/data/sql.ts';
import {
  type AgentClaim,
  type AgentGrant,
  agentClaims,
  type GrantQuery,
  grantedScopes,
  type HeldScopes,
  type PersonGrantQuery,
  type RegisteredResource,
  type ResourceClaim,
} from './audience-scopes.ts';
import { lentByPerson, shareWithPerson } from './lending-store.ts';
import { resourceOf, shownIdentifier } from './names-store.ts';

const columnsWith = (scopes: Sql) => sql`
  r.resource_id as "resourceId", r.organization_id as "organizationId", ${shownIdentifier} as identifier,
  r.deleted_at is not null as deleted,
  (select status = 'active' from organizations where organization_id = r.organization_id) as "ownerActive",
  r.token_lifetime_seconds as "tokenLifetimeSeconds", r.claims,
  ${scopes} as scopes`;
const columns = columnsWith(sql`coalesce(g.scopes, '{}')`);

type GrantRow = RegisteredResource & { readonly scopes: HeldScopes };

const toGrant = ({ scopes, ...resource }: GrantRow): AgentGrant => ({ resource, scopes });

/** Undefined when no resource has, or had, this identifier. */
export async function findAgentGrant(
  db: Queryable,
  agentId: string,
  identifier: string,
): Promise<AgentGrant | undefined> {
  const row = await db.maybe<GrantRow>(
    'resources.findAgentGrant',
    prepared(sql`
      select ${columns}
      from agents a join ${resourceOf(sql`${identifier}::text`, sql`a.organization_id`)}
        left join resource_grants g on g.resource_id = r.resource_id and g.agent_id = a.agent_id
      where a.agent_id = ${agentId}`),
  );
  return row && toGrant(row);
}

/** None for a resource that does not exist or was deleted, or whose owner is not active. */
export const findHeldScopes = async (
  db: Queryable,
  agentId: string,
  identifier: string,
): Promise<readonly string[]> => grantedScopes(await findAgentGrant(db, agentId, identifier));

/** Many at once, in the order of the queries. */
export async function findAgentGrants(
  db: Queryable,
  queries: readonly GrantQuery[],
): Promise<(AgentGrant | undefined)[]> {
  if (queries.length === 0) return [];
  const rows = await db.many<GrantRow | { resourceId: null }>(
    'resources.findAgentGrants',
    sql`select ${columns}
        from unnest(${queries.map(({ agentId }) => agentId)}::uuid[],
                    ${queries.map(({ identifier }) => identifier)}::text[])
            with ordinality as wanted (agent_id, identifier, position)
          left join agents a using (agent_id)
          left join ${resourceOf(sql`wanted.identifier`, sql`a.organization_id`)}
          left join resource_grants g on g.resource_id = r.resource_id and g.agent_id = wanted.agent_id
        order by wanted.position`,
  );
  return rows.map((row) => (row.resourceId === null ? undefined : toGrant(row)));
}

/** The same for people: what they may lend at a resource counts as their grant. */
export async function findPersonGrants(
  db: Queryable,
  queries: readonly PersonGrantQuery[],
): Promise<(AgentGrant | undefined)[]> {
  if (queries.length === 0) return [];
  const rows = await db.many<GrantRow | { resourceId: null }>(
    'resources.findPersonGrants',
    prepared(sql`select ${columnsWith(lentByPerson)}
        from unnest(${queries.map(({ personId }) => personId)}::uuid[],
                    ${queries.map(({ identifier }) => identifier)}::text[])
            with ordinality as wanted (person_id, identifier, position)
          left join people p using (person_id)
          left join ${resourceOf(sql`wanted.identifier`, sql`p.organization_id`)}
          ${shareWithPerson}
        order by wanted.position`),
  );
  return rows.map((row) => (row.resourceId === null ? undefined : toGrant(row)));
}

/** A grant of an agent, compared with the caller's own grant for the same resource. */
export interface ComparedGrant {
  readonly identifier: string;
  readonly ownerId: string;
  readonly scopes: readonly string[];
  /** The scopes that the caller's own grant has; none if the two agents differ in a field that is a claim of the resource. */
  readonly ownScopes: readonly string[];
  readonly claims: readonly ResourceClaim[];
  /** The claims that the caller is about to change. */
  readonly changedClaims?: readonly ResourceClaim[];
}

/** Of the agent `a` and the caller `c`. */
const sameValue: Readonly<Record<AgentClaim, Sql>> = {
  agentType: sql`a.agent_type = c.agent_type`,
  capabilities: sql`a.capabilities @> c.capabilities and a.capabilities <@ c.capabilities`,
  owner: sql`a.owner = c.owner`,
  deploymentEnv: sql`a.deployment_env = c.deployment_env`,
  version: sql`a.version = c.version`,
};

/** A caller cannot vouch for facts that its own tokens do not carry. */
const sameClaims = join(
  agentClaims.map((claim) => sql`(${claim}::text <> all (r.claims) or ${sameValue[claim]})`),
  ' and ',
);

export const compareGrants = (db: Queryable, agentId: string, callerId: string): Promise<ComparedGrant[]> =>
  db.many(
    'resources.compareGrants',
    sql`select ${shownIdentifier} as identifier, r.organization_id as "ownerId", r.claims,
          array(select jsonb_object_keys(g.scopes)) as scopes,
          array(select jsonb_object_keys(own.scopes)) as "ownScopes"
        from resource_grants g join resources r using (resource_id) join agents a on a.agent_id = g.agent_id
          left join (resource_grants own join agents c on c.agent_id = own.agent_id)
            on own.resource_id = g.resource_id and own.agent_id = ${callerId} and ${sameClaims}
        where g.agent_id = ${agentId} order by 1`,
  );

/** How many APIs each agent has a grant for; agents without grants are left out. */
export async function countGrants(db: Queryable, agentIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.many<{ agentId: string; total: number }>(
    'resources.countGrants',
    sql`select agent_id as "agentId", count(*) as total from resource_grants
        where agent_id = any(${agentIds}::uuid[]) group by agent_id`,
  );
  return new Map(rows.map(({ agentId, total }) => [agentId, total]));
}

/** The scopes that the caller can pass on to the agent, or take from it, by a grant of its own. */
export async function findOwnScopes(
  db: Queryable,
  callerId: string,
  { agentId, resourceId }: { readonly agentId: string; readonly resourceId: string },
): Promise<string[]> {
  const row = await db.maybe<{ scopes: string[] }>(
    'resources.findOwnScopes',
    sql`select array(select jsonb_object_keys(own.scopes)) as scopes
        from resource_grants own join resources r using (resource_id)
          join agents c on c.agent_id = own.agent_id join agents a on a.agent_id = ${agentId}
        where own.agent_id = ${callerId} and own.resource_id = ${resourceId} and ${sameClaims}`,
  );
  return row?.scopes ?? [];
}

/** The agent's grants for resources with one of these claims. A grant of the caller's own does not count. */
export const findGrantsCarrying = (
  db: Queryable,
  agentId: string,
  claims: readonly ResourceClaim[],
): Promise<ComparedGrant[]> =>
  db.many(
    'resources.findGrantsCarrying',
    sql`select ${shownIdentifier} as identifier, r.organization_id as "ownerId", r.claims,
          array(select jsonb_object_keys(g.scopes)) as scopes, '{}'::text[] as "ownScopes",
          array(select unnest(r.claims) intersect select unnest(${claims}::text[])) as "changedClaims"
        from resource_grants g join resources r using (resource_id)
        where g.agent_id = ${agentId} and r.claims && ${claims}::text[] order by 1`,
  );
