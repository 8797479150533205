/**
 * The tables `resource_shares`, with the shares in force, and `resource_share_offers`, with the scopes that wait for acceptance and the
 * memory of earlier offers.
 */
import type { Queryable } from '../../../kernel/data/db.ts';
import { type Sql, sql } from '../../../kernel/data/sql.ts';
import { offsetOf } from '../../../kernel/http/page.ts';
import { isPending, shownIdentifier } from '../names-store.ts';
import type { ListQuery } from '../schema.ts';
import type { ListedShare, ReceivedShare, ReceivedShareQuery, Share } from './share-schema.ts';

/** Shares in force joined with open offers, as one list. */
const sharesWhere = (matches: Sql): Sql => sql`
  select resource_id, organization_id, coalesce(s.scopes, o.scopes) as scopes, coalesce(o.scopes, '{}') as offered_scopes,
    case when s.scopes is null then 'offered' else 'accepted' end as status,
    coalesce(s.created_at, o.created_at) as created_at, greatest(s.updated_at, o.updated_at) as updated_at
  from (select * from resource_shares where ${matches}) s
    full join (select * from resource_share_offers where ${matches} and scopes <> '{}') o using (resource_id, organization_id)`;

const shareColumns = sql`
  resource_id as "resourceId", organization_id as "organizationId", scopes, offered_scopes as "offeredScopes", status,
  created_at as "createdAt", updated_at as "updatedAt"`;

export const findShare = (
  db: Queryable,
  resourceId: string,
  organizationId: string,
): Promise<Share | undefined> =>
  db.maybe(
    'resources.findShare',
    sql`select ${shareColumns}
        from (${sharesWhere(sql`resource_id = ${resourceId} and organization_id = ${organizationId}`)}) s`,
  );

export async function listShares(db: Queryable, resourceId: string, query: ListQuery) {
  const shares = sharesWhere(sql`resource_id = ${resourceId}`);
  const rows = await db.many<ListedShare>(
    'resources.listShares',
    sql`select s.*, (select count(*) from resource_grants g
                     where g.resource_id = s."resourceId" and g.organization_id = s."organizationId") as "agentCount"
        from (select ${shareColumns} from (${shares}) s
              order by created_at desc, organization_id desc limit ${query.limit} offset ${offsetOf(query)}) s
        order by s."createdAt" desc, s."organizationId" desc`,
  );
  const { total } = await db.one<{ total: number }>(
    'resources.countShares',
    sql`select count(*) as total from (${shares}) s`,
  );
  return { rows, total };
}

/** As the receiver sees them. Resources that were deleted, and those of deleted organizations, are left out. */
const receivedWhere = (organizationId: string, matches: Sql): Sql => sql`
  select s.resource_id as "resourceId", ${shownIdentifier} as identifier, r.name, not ${isPending} as verified,
    owner.organization_id as "ownerId", owner.name as "ownerName", owner.slug as "ownerSlug",
    s.scopes, s.offered_scopes as "offeredScopes", s.status, s.created_at as "createdAt", s.updated_at as "updatedAt"
  from (${sharesWhere(sql`organization_id = ${organizationId}`)}) s
    join resources r on r.resource_id = s.resource_id and r.deleted_at is null
    join organizations owner on owner.organization_id = r.organization_id and owner.status <> 'deleted'
  where ${matches}`;

export const findReceivedShare = (
  db: Queryable,
  organizationId: string,
  resourceId: string,
): Promise<ReceivedShare | undefined> =>
  db.maybe('resources.findReceivedShare', receivedWhere(organizationId, sql`s.resource_id = ${resourceId}`));

export async function listReceivedShares(db: Queryable, organizationId: string, query: ReceivedShareQuery) {
  const status = query.status ?? null;
  const received = receivedWhere(organizationId, sql`(${status}::text is null or s.status = ${status})`);
  const rows = await db.many<ReceivedShare>(
    'resources.listReceivedShares',
    sql`select * from (${received}) s
        order by s."createdAt" desc, s."resourceId" desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'resources.countReceivedShares',
    sql`select count(*) as total from (${received}) s`,
  );
  return { rows, total };
}

/** A share in force. */
type AcceptedShare = Omit<Share, 'status' | 'offeredScopes'>;

const acceptedColumns = sql`
  resource_id as "resourceId", organization_id as "organizationId", scopes, created_at as "createdAt",
  updated_at as "updatedAt"`;

export async function upsertShare(db: Queryable, share: AcceptedShare): Promise<void> {
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
export const deleteShares = (
  db: Queryable,
  resourceId: string,
  organizationId?: string,
): Promise<AcceptedShare[]> =>
  db.many(
    'resources.deleteShares',
    sql`delete from resource_shares where resource_id = ${resourceId}
          and (${organizationId ?? null}::uuid is null or organization_id = ${organizationId ?? null})
        returning ${acceptedColumns}`,
  );

/** The column `scopes` without these, in its order. */
const without = (scopes: readonly string[]): Sql => sql`
  array(select kept from unnest(scopes) with ordinality as held (kept, position)
        where kept <> all (${scopes}::text[]) order by position)`;

/** Takes scopes from all shares and offers of the resource; a share without scopes is removed. */
export async function narrowShares(
  db: Queryable,
  resourceId: string,
  scopes: readonly string[],
  now: string,
): Promise<{ changed: AcceptedShare[]; removed: AcceptedShare[] }> {
  await db.run(
    'resources.narrowOffers',
    sql`update resource_share_offers set updated_at = ${now}, scopes = ${without(scopes)}
        where resource_id = ${resourceId} and scopes && ${scopes}::text[]`,
  );
  const removed = await db.many<AcceptedShare>(
    'resources.deleteEmptiedShares',
    sql`delete from resource_shares where resource_id = ${resourceId} and scopes <@ ${scopes}::text[]
        returning ${acceptedColumns}`,
  );
  const changed = await db.many<AcceptedShare>(
    'resources.narrowShares',
    sql`update resource_shares
        set updated_at = ${now}, scopes = ${without(scopes)}
        where resource_id = ${resourceId} and scopes && ${scopes}::text[]
        returning ${acceptedColumns}`,
  );
  return { changed, removed };
}
