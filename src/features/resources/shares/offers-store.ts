/**
 * The table `resource_share_offers`: one row for each resource and receiver, kept after the offer has ended. A resource that is registered
 * again takes over the rows of its earlier registration.
 */
import type { Queryable } from '../../../kernel/data/db.ts';
import { sql } from '../../../kernel/data/sql.ts';

export interface StoredOffer {
  readonly resourceId: string;
  /** The receiver. */
  readonly organizationId: string;
  readonly ownerId: string;
  /** Empty when nothing is offered. */
  readonly scopes: readonly string[];
  readonly createdAt: string;
  readonly updatedAt: string;
  /** When the receiver's log got its only event of offers of this identifier. */
  readonly announcedAt: string | null;
  readonly declinedAt: string | null;
}

export const findOffer = (
  db: Queryable,
  resourceId: string,
  organizationId: string,
): Promise<StoredOffer | undefined> =>
  db.maybe(
    'resources.findOffer',
    sql`select resource_id as "resourceId", organization_id as "organizationId", owner_id as "ownerId", scopes,
          created_at as "createdAt", updated_at as "updatedAt", announced_at as "announcedAt", declined_at as "declinedAt"
        from resource_share_offers where resource_id = ${resourceId} and organization_id = ${organizationId}`,
  );

export async function upsertOffer(db: Queryable, offer: StoredOffer): Promise<void> {
  const { resourceId, organizationId, ownerId, scopes } = offer;
  const { createdAt, updatedAt, announcedAt, declinedAt } = offer;
  await db.run(
    'resources.upsertOffer',
    sql`insert into resource_share_offers
          (resource_id, organization_id, owner_id, scopes, created_at, updated_at, announced_at, declined_at)
        values (${resourceId}, ${organizationId}, ${ownerId}, ${scopes}, ${createdAt}, ${updatedAt}, ${announcedAt},
                ${declinedAt})
        on conflict (resource_id, organization_id) do update
        set scopes = excluded.scopes, created_at = excluded.created_at, updated_at = excluded.updated_at,
            announced_at = excluded.announced_at, declined_at = excluded.declined_at`,
  );
}

/** Ends all offers of a resource. */
export async function withdrawOffers(db: Queryable, resourceId: string, now: string): Promise<void> {
  await db.run(
    'resources.withdrawOffers',
    sql`update resource_share_offers set scopes = '{}', updated_at = ${now}
        where resource_id = ${resourceId} and scopes <> '{}'`,
  );
}

/**
 * The rows of earlier resources become those of a new one. All are the owner's, with one identifier: the receiver was told of it once, and
 * its refusal stays, however often the owner deletes the resource and registers it again.
 */
export async function moveOffers(db: Queryable, from: readonly string[], resourceId: string): Promise<void> {
  if (from.length === 0) return;
  await db.run(
    'resources.moveOffers',
    sql`with earlier as (delete from resource_share_offers where resource_id = any(${from}::uuid[]) returning *)
        insert into resource_share_offers
          (resource_id, organization_id, owner_id, scopes, created_at, updated_at, announced_at, declined_at)
        select ${resourceId}::uuid, organization_id, owner_id, '{}', min(created_at), max(updated_at), max(announced_at),
          max(declined_at)
        from earlier group by organization_id, owner_id`,
  );
}

export async function hasOffers(db: Queryable, resourceId: string): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(
    'resources.hasOffers',
    sql`select exists (select from resource_share_offers where resource_id = ${resourceId}) as found`,
  );
  return found;
}

/** How many resources the owner has announced to the receiver since then. */
export async function countAnnounced(
  db: Queryable,
  ownerId: string,
  organizationId: string,
  since: string,
): Promise<number> {
  const { total } = await db.one<{ total: number }>(
    'resources.countAnnounced',
    sql`select count(*) as total from resource_share_offers
        where owner_id = ${ownerId} and organization_id = ${organizationId} and announced_at > ${since}`,
  );
  return total;
}

/** Rows of deleted resources that nothing has changed since then. */
export async function purgeOffers(
  db: Queryable,
  ownerId: string,
  organizationId: string,
  since: string,
): Promise<void> {
  await db.run(
    'resources.purgeOffers',
    sql`delete from resource_share_offers o
        where owner_id = ${ownerId} and organization_id = ${organizationId} and updated_at <= ${since}
          and not exists (select from resources r where r.resource_id = o.resource_id and r.deleted_at is null)`,
  );
}
