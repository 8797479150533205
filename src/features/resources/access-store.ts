/** Reads that other features need of resources and grants. */
import type { Queryable } from '../../kernel/data/db.ts';
import { prepared, sql } from '../../kernel/data/sql.ts';
import type { AgentGrant, GrantQuery, HeldScopes, RegisteredResource } from '../../kernel/ports/resources.ts';
import { shownIdentifier } from './store.ts';

const columns = sql`
  r.resource_id as "resourceId", r.organization_id as "organizationId", r.identifier,
  r.deleted_at is not null as deleted,
  (select status = 'active' from organizations where organization_id = r.organization_id) as "ownerActive",
  r.token_lifetime_seconds as "tokenLifetimeSeconds", r.claims,
  coalesce(g.scopes, '{}') as scopes`;

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
      from resources r left join resource_grants g on g.resource_id = r.resource_id and g.agent_id = ${agentId}
      where r.identifier = ${identifier}`),
  );
  return row && toGrant(row);
}

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
          left join resources r on r.identifier = wanted.identifier
          left join resource_grants g on g.resource_id = r.resource_id and g.agent_id = wanted.agent_id
        order by wanted.position`,
  );
  return rows.map((row) => (row.resourceId === null ? undefined : toGrant(row)));
}

/** A grant of an agent, compared with the caller's own grant for the same resource. */
export interface ComparedGrant {
  readonly identifier: string;
  readonly ownerId: string;
  readonly scopes: readonly string[];
  /** The scopes that the caller's own grant has. */
  readonly ownScopes: readonly string[];
}

export const compareGrants = (db: Queryable, agentId: string, callerId: string): Promise<ComparedGrant[]> =>
  db.many(
    'resources.compareGrants',
    sql`select ${shownIdentifier} as identifier, r.organization_id as "ownerId", array(select jsonb_object_keys(g.scopes)) as scopes,
          array(select jsonb_object_keys(own.scopes)) as "ownScopes"
        from resource_grants g join resources r using (resource_id)
          left join resource_grants own on own.resource_id = g.resource_id and own.agent_id = ${callerId}
        where g.agent_id = ${agentId} order by 1`,
  );
