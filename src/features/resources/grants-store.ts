/** The table `resource_grants`. */
import type { Queryable } from '../../kernel/data/db.ts';
import { type Sql, sql } from '../../kernel/data/sql.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import type { HeldScopes } from './audience-scopes.ts';
import { isPending, shownIdentifier } from './names-store.ts';
import type { AgentGrantQuery, Grant, GrantQuery, ListQuery } from './schema.ts';

/** In the resource's order; an object in the database has no order. */
const scopeNames = sql`
  array(select scope->>'name' from jsonb_array_elements(r.scopes) with ordinality as listed (scope, position)
        where g.scopes ? (scope->>'name') order by position)`;

const columns = sql`
  g.agent_id as "agentId", g.resource_id as "resourceId", ${shownIdentifier} as identifier, ${scopeNames} as scopes,
  g.granted_by as "grantedBy", g.created_at as "createdAt", g.updated_at as "updatedAt"`;

async function listWhere(db: Queryable, name: string, matches: Sql, order: Sql, query: ListQuery) {
  // The page is chosen first: the scopes of other grants are not expanded.
  const rows = await db.many<Grant>(
    `resources.${name}`,
    sql`select ${columns} from (
          select * from resource_grants g where ${matches} order by ${order} limit ${query.limit} offset ${offsetOf(query)}
        ) g join resources r using (resource_id) order by ${order}`,
  );
  const { total } = await db.one<{ total: number }>(
    `resources.${name}Count`,
    sql`select count(*) as total from resource_grants g where ${matches}`,
  );
  return { rows, total };
}

const newestFirst = sql`g.created_at desc, g.resource_id desc`;

export const listAgentGrants = (db: Queryable, agentId: string, query: AgentGrantQuery) =>
  listWhere(
    db,
    'listAgentGrants',
    sql`g.agent_id = ${agentId}
        and (${query.resourceId ?? null}::uuid is null or g.resource_id = ${query.resourceId ?? null})`,
    newestFirst,
    query,
  );

/** Without the grants for pending resources and those of organizations that are suspended or deleted: no token is issued for them. */
export const listUsableGrants = async (db: Queryable, agentId: string, limit: number): Promise<Grant[]> => {
  const ownerActive = sql`exists (
    select from resources r join organizations o on o.organization_id = r.organization_id
    where r.resource_id = g.resource_id and not ${isPending} and o.status = 'active')`;
  const { rows } = await listWhere(
    db,
    'listUsableGrants',
    sql`g.agent_id = ${agentId} and ${ownerActive}`,
    newestFirst,
    { page: 1, limit },
  );
  return rows;
};

/** `tenant`: the organization whose agents are listed; undefined for operators, who see all. */
export const listResourceGrants = (
  db: Queryable,
  tenant: string | undefined,
  resourceId: string,
  query: GrantQuery,
) =>
  listWhere(
    db,
    'listResourceGrants',
    sql`g.resource_id = ${resourceId}
        and (${tenant ?? null}::uuid is null or g.organization_id = ${tenant ?? null})
        and (${query.scope ?? null}::text is null or g.scopes ? ${query.scope ?? null})`,
    sql`g.created_at desc, g.agent_id desc`,
    query,
  );

export interface StoredGrant {
  readonly agentId: string;
  readonly resourceId: string;
  readonly organizationId: string;
  readonly held: HeldScopes;
  readonly grantedBy: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

const storedColumns = sql`
  agent_id as "agentId", resource_id as "resourceId", organization_id as "organizationId", scopes as held,
  granted_by as "grantedBy", created_at as "createdAt", updated_at as "updatedAt"`;

export const findGrant = (
  db: Queryable,
  agentId: string,
  resourceId: string,
): Promise<StoredGrant | undefined> =>
  db.maybe(
    'resources.findGrant',
    sql`select ${storedColumns} from resource_grants where agent_id = ${agentId} and resource_id = ${resourceId}`,
  );

/** The later of this node's and the database's clock: the clocks of the nodes may differ. */
export async function laterTime(db: Queryable, now: string): Promise<string> {
  const { time } = await db.one<{ time: string }>(
    'resources.laterTime',
    sql`select greatest(${now}::timestamptz, date_trunc('milliseconds', clock_timestamp())) as time`,
  );
  return time;
}

export async function upsertGrant(db: Queryable, grant: StoredGrant): Promise<void> {
  const { agentId, resourceId, organizationId, held, grantedBy, createdAt, updatedAt } = grant;
  await db.run(
    'resources.upsertGrant',
    sql`insert into resource_grants
          (agent_id, resource_id, organization_id, scopes, granted_by, created_at, updated_at)
        values
          (${agentId}, ${resourceId}, ${organizationId}, ${JSON.stringify(held)}, ${grantedBy}, ${createdAt}, ${updatedAt})
        on conflict (agent_id, resource_id) do update
        set scopes = excluded.scopes, granted_by = excluded.granted_by, updated_at = excluded.updated_at`,
  );
}

/** Grants of a resource: all, those of one organization's agents, or that of one agent. */
export interface GrantSelection {
  readonly resourceId: string;
  readonly organizationId?: string | undefined;
  readonly agentId?: string;
}

const selected = ({ resourceId, organizationId, agentId }: GrantSelection): Sql => sql`
  resource_id = ${resourceId}
  and (${organizationId ?? null}::uuid is null or organization_id = ${organizationId ?? null})
  and (${agentId ?? null}::uuid is null or agent_id = ${agentId ?? null})`;

export const listGrantsOf = (db: Queryable, selection: GrantSelection): Promise<StoredGrant[]> =>
  db.many(
    'resources.listGrants',
    sql`select ${storedColumns} from resource_grants where ${selected(selection)}`,
  );

/** Returns the grants as they were. */
export const deleteGrants = (db: Queryable, selection: GrantSelection): Promise<StoredGrant[]> =>
  db.many(
    'resources.deleteGrants',
    sql`delete from resource_grants where ${selected(selection)} returning ${storedColumns}`,
  );

/** Takes scopes from grants; a grant without scopes is removed. Returns the changed as they are, the removed as they were. */
export async function narrowGrants(
  db: Queryable,
  selection: GrantSelection,
  scopes: readonly string[],
  now: string,
): Promise<{ changed: StoredGrant[]; removed: StoredGrant[] }> {
  const removed = await db.many<StoredGrant>(
    'resources.deleteEmptiedGrants',
    sql`delete from resource_grants where ${selected(selection)} and scopes - ${scopes}::text[] = '{}'
        returning ${storedColumns}`,
  );
  const changed = await db.many<StoredGrant>(
    'resources.narrowGrants',
    sql`update resource_grants set scopes = scopes - ${scopes}::text[], updated_at = ${now}
        where ${selected(selection)} and scopes ?| ${scopes}::text[]
        returning ${storedColumns}`,
  );
  return { changed, removed };
}
