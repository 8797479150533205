/** The tables `resources` and `resource_shares`. */
import type { Queryable } from '../../kernel/data/db.ts';
import { join, type Sql, sql } from '../../kernel/data/sql.ts';
import { createdWithin, type TimeRange } from '../../kernel/data/time-range.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import type { ListedShare, ListQuery, Resource, ResourceQuery, Share } from './schema.ts';

/** A resource as one organization sees it. */
export interface VisibleResource extends Resource {
  /** The scopes shared with that organization; null when it owns the resource. */
  readonly sharedScopes: readonly string[] | null;
}

const columns = sql`
  r.resource_id as "resourceId", r.organization_id as "organizationId", r.identifier, r.name, r.description, r.scopes,
  r.token_lifetime_seconds as "tokenLifetimeSeconds", r.claims, r.created_at as "createdAt", r.updated_at as "updatedAt"`;

/** `tenant`: the organization that owns the resource or that it is shared with; undefined for operators, who see all. */
const visibleTo = (tenant: string | undefined, matches: Sql): Sql =>
  tenant === undefined
    ? sql`select ${columns}, null as "sharedScopes" from resources r where r.deleted_at is null and ${matches}`
    : sql`select ${columns}, s.scopes as "sharedScopes"
          from resources r left join resource_shares s on s.resource_id = r.resource_id and s.organization_id = ${tenant}
          where r.deleted_at is null and (r.organization_id = ${tenant} or s.resource_id is not null) and ${matches}`;

/** A suspended organization can come back, a deleted one cannot. */
const ownerExists = sql`
  not exists (select from organizations where organization_id = r.organization_id and status = 'deleted')`;

export const findResource = (
  db: Queryable,
  tenant: string | undefined,
  resourceId: string,
): Promise<VisibleResource | undefined> =>
  db.maybe('resources.find', visibleTo(tenant, sql`r.resource_id = ${resourceId} and ${ownerExists}`));

/** Also a resource of a deleted organization: its grants can be removed. */
export const findGrantedResource: typeof findResource = (db, tenant, resourceId) =>
  db.maybe('resources.findGranted', visibleTo(tenant, sql`r.resource_id = ${resourceId}`));

/** Those that the organization owns come first, so that others cannot push them off the first page by sharing. */
export async function listResources(
  db: Queryable,
  tenant: string | undefined,
  query: ResourceQuery,
  range: TimeRange,
): Promise<{ rows: VisibleResource[]; total: number }> {
  const q = (query.q ?? '').toLowerCase();
  const contains = join(
    [
      sql`(strpos(lower(r.name), ${q}) > 0 or strpos(lower(r.identifier), ${q}) > 0) and ${ownerExists}`,
      ...createdWithin(range, sql`r.created_at`),
    ],
    ' and ',
  );
  // By index: the rows of all other organizations are not read.
  const known =
    tenant === undefined
      ? contains
      : sql`r.resource_id in (
          select resource_id from resources where organization_id = ${tenant} and deleted_at is null
          union all select resource_id from resource_shares where organization_id = ${tenant}) and ${contains}`;
  const visible = visibleTo(tenant, known);
  const ownFirst = tenant === undefined ? sql`` : sql`(v."organizationId" = ${tenant}) desc,`;
  const rows = await db.many<VisibleResource>(
    'resources.list',
    sql`select v.* from (${visible}) v
        order by ${ownFirst} v."createdAt" desc, v."resourceId" desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'resources.count',
    sql`select count(*) as total from (${visible}) v`,
  );
  return { rows, total };
}

export async function countResources(db: Queryable, organizationId: string): Promise<number> {
  const { total } = await db.one<{ total: number }>(
    'resources.countOwned',
    sql`select count(*) as total from resources where organization_id = ${organizationId} and deleted_at is null`,
  );
  return total;
}

/** Frees an identifier that the organization's own deleted resource reserves. */
export const deleteReservation = (
  db: Queryable,
  organizationId: string,
  spellings: readonly string[],
): Promise<number> =>
  db.run(
    'resources.deleteReservation',
    sql`delete from resources where identifier = any(${spellings}::text[])
          and organization_id = ${organizationId} and deleted_at is not null`,
  );

/** Whether another resource has one of the identifiers, or a deleted one reserves it. */
export async function isTaken(db: Queryable, spellings: readonly string[]): Promise<boolean> {
  const { taken } = await db.one<{ taken: boolean }>(
    'resources.isTaken',
    sql`select exists (select from resources where identifier = any(${spellings}::text[])) as taken`,
  );
  return taken;
}

export async function insertResource(db: Queryable, resource: Resource): Promise<void> {
  const { resourceId, organizationId, identifier, name, description, scopes } = resource;
  const { tokenLifetimeSeconds, claims, createdAt, updatedAt } = resource;
  await db.run(
    'resources.insert',
    sql`insert into resources
          (resource_id, organization_id, identifier, name, description, scopes, token_lifetime_seconds, claims,
           created_at, updated_at)
        values
          (${resourceId}, ${organizationId}, ${identifier}, ${name}, ${description}, ${JSON.stringify(scopes)},
           ${tokenLifetimeSeconds}, ${claims}, ${createdAt}, ${updatedAt})`,
  );
}

export async function updateResource(db: Queryable, resource: Resource): Promise<void> {
  const { resourceId, name, description, scopes, tokenLifetimeSeconds, claims, updatedAt } = resource;
  await db.run(
    'resources.update',
    sql`update resources
        set name = ${name}, description = ${description}, scopes = ${JSON.stringify(scopes)},
            token_lifetime_seconds = ${tokenLifetimeSeconds}, claims = ${claims}, updated_at = ${updatedAt}
        where resource_id = ${resourceId}`,
  );
}

/** The row stays: it reserves the identifier. */
export async function markDeleted(db: Queryable, resourceId: string, now: string): Promise<void> {
  await db.run(
    'resources.delete',
    sql`update resources set deleted_at = ${now}, updated_at = ${now} where resource_id = ${resourceId}`,
  );
}

const shareColumns = sql`
  resource_id as "resourceId", organization_id as "organizationId", scopes, created_at as "createdAt",
  updated_at as "updatedAt"`;

export const findShare = (
  db: Queryable,
  resourceId: string,
  organizationId: string,
): Promise<Share | undefined> =>
  db.maybe(
    'resources.findShare',
    sql`select ${shareColumns} from resource_shares
        where resource_id = ${resourceId} and organization_id = ${organizationId}`,
  );

export async function listShares(db: Queryable, resourceId: string, query: ListQuery) {
  const rows = await db.many<ListedShare>(
    'resources.listShares',
    sql`select s.*, (select count(*) from resource_grants g
                     where g.resource_id = s."resourceId" and g.organization_id = s."organizationId") as "agentCount"
        from (select ${shareColumns} from resource_shares where resource_id = ${resourceId}
              order by created_at desc, organization_id desc limit ${query.limit} offset ${offsetOf(query)}) s
        order by s."createdAt" desc, s."organizationId" desc`,
  );
  const { total } = await db.one<{ total: number }>(
    'resources.countShares',
    sql`select count(*) as total from resource_shares where resource_id = ${resourceId}`,
  );
  return { rows, total };
}

export async function upsertShare(db: Queryable, share: Share): Promise<void> {
  const { resourceId, organizationId, scopes, createdAt, updatedAt } = share;
  await db.run(
    'resources.upsertShare',
    sql`insert into resource_shares (resource_id, organization_id, scopes, created_at, updated_at)
        values (${resourceId}, ${organizationId}, ${scopes}, ${createdAt}, ${updatedAt})
        on conflict (resource_id, organization_id) do update
        set scopes = excluded.scopes, updated_at = excluded.updated_at`,
  );
}

/** Removes a share, or with `organizationId` undefined all shares of the resource; returns them. */
export const deleteShares = (db: Queryable, resourceId: string, organizationId?: string): Promise<Share[]> =>
  db.many(
    'resources.deleteShares',
    sql`delete from resource_shares where resource_id = ${resourceId}
          and (${organizationId ?? null}::uuid is null or organization_id = ${organizationId ?? null})
        returning ${shareColumns}`,
  );

/** Takes scopes from all shares of the resource; a share without scopes is removed. */
export async function narrowShares(
  db: Queryable,
  resourceId: string,
  scopes: readonly string[],
  now: string,
): Promise<{ changed: Share[]; removed: Share[] }> {
  const removed = await db.many<Share>(
    'resources.deleteEmptiedShares',
    sql`delete from resource_shares where resource_id = ${resourceId} and scopes <@ ${scopes}::text[]
        returning ${shareColumns}`,
  );
  const changed = await db.many<Share>(
    'resources.narrowShares',
    sql`update resource_shares
        set updated_at = ${now}, scopes = array(
          select kept from unnest(scopes) with ordinality as held (kept, position)
          where kept <> all (${scopes}::text[]) order by position)
        where resource_id = ${resourceId} and scopes && ${scopes}::text[]
        returning ${shareColumns}`,
  );
  return { changed, removed };
}
