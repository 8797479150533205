/** The table `resource_share_offers`: one row for each resource and receiver, kept after the offer has ended. */
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
  /** When the receiver's log got its only event of offers of this resource. */
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
 * How many resources the owner has announced to the receiver since then. Rows of deleted resources are purged first: nothing can be
 * offered of them again.
 */
export async function countAnnounced(
  db: Queryable,
  ownerId: string,
  organizationId: string,
  since: string,
): Promise<number> {
  await db.run(
    'resources.purgeOffers',
    sql`delete from resource_share_offers o
        where owner_id = ${ownerId} and organization_id = ${organizationId} and announced_at <= ${since}
          and not exists (select from resources r where r.resource_id = o.resource_id and r.deleted_at is null)`,
  );
  const { total } = await db.one<{ total: number }>(
    'resources.countAnnounced',
    sql`select count(*) as total from resource_share_offers
        where owner_id = ${ownerId} and organization_id = ${organizationId} and announced_at > ${since}`,
  );
  return total;
}
