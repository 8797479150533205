/** The table `resources`. */
import type { Queryable } from '../../kernel/data/db.ts';
import { join, type Sql, sql } from '../../kernel/data/sql.ts';
import { createdWithin, type TimeRange } from '../../kernel/data/time-range.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import { hostOf, spellingsOf } from './identifier.ts';
import { isPending, localName, pendingName, shownIdentifier } from './names-store.ts';
import type { Resource, ResourceQuery } from './schema.ts';

/** A resource as one organization sees it. */
export interface VisibleResource extends Resource {
  /** The scopes shared with that organization; null when it owns the resource. */
  readonly sharedScopes: readonly string[] | null;
}

const columns = sql`
  r.resource_id as "resourceId", r.organization_id as "organizationId", ${shownIdentifier} as identifier, r.name, r.description,
  r.scopes, r.token_lifetime_seconds as "tokenLifetimeSeconds", r.claims, r.people_scopes as "peopleScopes", r.approvers,
  r.authorization_detail_types as "authorizationDetailTypes", r.created_at as "createdAt",
  r.updated_at as "updatedAt",
  jsonb_build_object('status', case when ${isPending} then 'pending' else 'verified' end,
    'method', r.verification_method, 'token', r.verification_token) as verification`;

type Row = Omit<VisibleResource, 'verification'> & {
  readonly verification: Omit<Resource['verification'], 'host'>;
};

const toVisible = ({ verification, ...row }: Row): VisibleResource => ({
  ...row,
  verification: {
    status: verification.status,
    host: hostOf(row.identifier),
    method: verification.method,
    token: verification.token,
  },
});

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

export async function findResource(
  db: Queryable,
  tenant: string | undefined,
  resourceId: string,
): Promise<VisibleResource | undefined> {
  const row = await db.maybe<Row>(
    'resources.find',
    visibleTo(tenant, sql`r.resource_id = ${resourceId} and ${ownerExists}`),
  );
  return row && toVisible(row);
}

/** Also a resource of a deleted organization: its grants can be removed. */
export const findGrantedResource: typeof findResource = async (db, tenant, resourceId) => {
  const row = await db.maybe<Row>(
    'resources.findGranted',
    visibleTo(tenant, sql`r.resource_id = ${resourceId}`),
  );
  return row && toVisible(row);
};

/** Those that the organization owns come first, so that others cannot push them off the first page by sharing. */
export async function listResources(
  db: Queryable,
  tenant: string | undefined,
  query: ResourceQuery,
  range: TimeRange,
): Promise<{ rows: VisibleResource[]; total: number }> {
  const q = query.q ?? '';
  const contains = join(
    [
      sql`(strpos(lower(r.name), lower(${q})) > 0 or strpos(lower(${shownIdentifier}), lower(${q})) > 0) and ${ownerExists}`,
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
  const rows = await db.many<Row>(
    'resources.list',
    sql`select v.* from (${visible}) v
        order by ${ownFirst} v."createdAt" desc, v."resourceId" desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'resources.count',
    sql`select count(*) as total from (${visible}) v`,
  );
  return { rows: rows.map(toVisible), total };
}

export async function countResources(db: Queryable, organizationId: string): Promise<number> {
  const { total } = await db.one<{ total: number }>(
    'resources.countOwned',
    sql`select count(*) as total from resources where organization_id = ${organizationId} and deleted_at is null`,
  );
  return total;
}

/** The organization's own deleted resources with one of the identifiers. */
export async function findDeleted(
  db: Queryable,
  organizationId: string,
  spellings: readonly string[],
): Promise<string[]> {
  const names = [
    ...spellings,
    ...spellings.map((spelling) => localName(organizationId, spelling)),
    pendingName(organizationId, spellings),
  ];
  const rows = await db.many<{ resourceId: string }>(
    'resources.findDeleted',
    sql`select resource_id as "resourceId" from resources
        where identifier = any(${names}::text[]) and organization_id = ${organizationId} and deleted_at is not null`,
  );
  return rows.map(({ resourceId }) => resourceId);
}

/** Of a deleted resource that was pending: it reserves nothing. */
export const deletePendingName = (
  db: Queryable,
  organizationId: string,
  spellings: readonly string[],
): Promise<number> => deleteReservation(db, organizationId, [pendingName(organizationId, spellings)]);

/** Frees the names that the organization's own deleted resource reserves. */
export const deleteReservation = (
  db: Queryable,
  organizationId: string,
  names: readonly string[],
): Promise<number> =>
  db.run(
    'resources.deleteReservation',
    sql`delete from resources where identifier = any(${names}::text[])
          and organization_id = ${organizationId} and deleted_at is not null`,
  );

/** Whether the organization itself has a resource with one of the identifiers, verified or pending. */
export async function isOwnIdentifier(
  db: Queryable,
  organizationId: string,
  spellings: readonly string[],
): Promise<boolean> {
  const { own } = await db.one<{ own: boolean }>(
    'resources.isOwnIdentifier',
    sql`select exists (select from resources r where r.organization_id = ${organizationId} and r.deleted_at is null
                         and ${shownIdentifier} = any(${spellings}::text[])) as own`,
  );
  return own;
}

/** Whether a verified resource has one of the names, or a deleted one reserves it. */
export async function isTaken(db: Queryable, names: readonly string[]): Promise<boolean> {
  const { taken } = await db.one<{ taken: boolean }>(
    'resources.isTaken',
    sql`select exists (select from resources where identifier = any(${names}::text[])) as taken`,
  );
  return taken;
}

/** `audience`: the name by which token requests find it, once it is verified (`audienceName`). */
export async function insertResource(db: Queryable, resource: Resource, audience: string): Promise<void> {
  const { resourceId, organizationId, identifier, name, description, scopes, verification } = resource;
  const { tokenLifetimeSeconds, claims, peopleScopes, approvers, createdAt, updatedAt } = resource;
  const detailTypes = JSON.stringify(resource.authorizationDetailTypes);
  const column =
    verification.status === 'pending' ? pendingName(organizationId, spellingsOf(identifier)) : audience;
  await db.run(
    'resources.insert',
    sql`insert into resources
          (resource_id, organization_id, identifier, pending_identifier, verification_token, name, description, scopes,
           token_lifetime_seconds, claims, people_scopes, approvers, authorization_detail_types, created_at, updated_at)
        values
          (${resourceId}, ${organizationId}, ${column}, ${column === identifier ? null : identifier},
           ${verification.token}, ${name}, ${description}, ${JSON.stringify(scopes)}, ${tokenLifetimeSeconds}, ${claims},
           ${peopleScopes}, ${approvers}::uuid[], ${detailTypes}, ${createdAt}, ${updatedAt})`,
  );
}

/** From now on token requests find it by the audience. */
export async function markVerified(db: Queryable, resource: Resource, audience: string): Promise<void> {
  const { resourceId, identifier, verification, updatedAt } = resource;
  await db.run(
    'resources.markVerified',
    sql`update resources
        set identifier = ${audience}, pending_identifier = ${audience === identifier ? null : identifier},
            verification_token = ${verification.token}, verification_method = ${verification.method},
            updated_at = ${updatedAt}
        where resource_id = ${resourceId}`,
  );
}

/** A pending resource reserves nothing. Its shares and grants are deleted with it. */
export async function deletePending(db: Queryable, resourceId: string): Promise<void> {
  await db.run('resources.deletePending', sql`delete from resources where resource_id = ${resourceId}`);
}

export async function updateResource(db: Queryable, resource: Resource): Promise<void> {
  const { resourceId, name, description, scopes, tokenLifetimeSeconds, claims, peopleScopes, approvers } =
    resource;
  await db.run(
    'resources.update',
    sql`update resources
        set name = ${name}, description = ${description}, scopes = ${JSON.stringify(scopes)},
            token_lifetime_seconds = ${tokenLifetimeSeconds}, claims = ${claims}, people_scopes = ${peopleScopes},
            approvers = ${approvers}::uuid[],
            authorization_detail_types = ${JSON.stringify(resource.authorizationDetailTypes)}, updated_at = ${resource.updatedAt}
        where resource_id = ${resourceId}`,
  );
}

/** The row stays: it reserves the identifier, and the offers of the resource are found by it. */
export async function markDeleted(db: Queryable, resourceId: string, now: string): Promise<void> {
  await db.run(
    'resources.delete',
    sql`update resources set deleted_at = ${now}, updated_at = ${now} where resource_id = ${resourceId}`,
  );
}
