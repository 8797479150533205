import type { AgentFacts } from '../../contract/identity.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { join, type Sql, sql } from '../../kernel/data/sql.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import type { Listing, ListingQuery } from './schema.ts';

/** A row; `did` and `cardUrl` are derived from the agent's id. */
export type StoredListing = Omit<Listing, 'did' | 'cardUrl'>;

/** As the service writes it: the name and slug of the organization are read with it. */
export type NewRow = Omit<StoredListing, 'organizationName' | 'organizationSlug'>;

export const columns = sql`
  l.listing_id as "listingId", l.agent_id as "agentId", l.organization_id as "organizationId",
  (select o.name from organizations o where o.organization_id = l.organization_id) as "organizationName",
  (select o.slug from organizations o where o.organization_id = l.organization_id) as "organizationSlug", l.title, l.summary,
  l.description, l.categories, l.tags, l.capabilities, l.agent_type as "agentType", l.version, l.endpoints,
  l.documentation_url as "documentationUrl", l.pricing, l.visibility, l.verified, l.status,
  l.published_at as "publishedAt", l.created_at as "createdAt", l.updated_at as "updatedAt"`;

/** Undefined for operators: every organization. */
const ofTenant = (organizationId: string | undefined) =>
  organizationId === undefined ? sql`true` : sql`l.organization_id = ${organizationId}`;

/** False when the agent already has a listing. */
export async function insertListing(db: Queryable, listing: NewRow): Promise<boolean> {
  const inserted = await db.run(
    'listings.insert',
    sql`insert into listings
          (listing_id, agent_id, organization_id, title, summary, description, categories, tags, endpoints,
           documentation_url, pricing, visibility, status, published_at, created_at, updated_at, agent_type, version,
           capabilities, agent_active, verified)
        values
          (${listing.listingId}, ${listing.agentId}, ${listing.organizationId}, ${listing.title}, ${listing.summary},
           ${listing.description}, ${listing.categories}, ${listing.tags}, ${JSON.stringify(listing.endpoints)},
           ${listing.documentationUrl}, ${JSON.stringify(listing.pricing)}, ${listing.visibility}, ${listing.status},
           ${listing.publishedAt}, ${listing.createdAt}, ${listing.updatedAt}, ${listing.agentType},
           ${listing.version}, ${listing.capabilities}, true, ${listing.verified})
        on conflict (agent_id) do nothing`,
  );
  return inserted === 1;
}

export async function updateListing(db: Queryable, listing: NewRow): Promise<void> {
  await db.run(
    'listings.update',
    sql`update listings
        set title = ${listing.title}, summary = ${listing.summary}, description = ${listing.description},
            categories = ${listing.categories}, tags = ${listing.tags}, endpoints = ${JSON.stringify(listing.endpoints)},
            documentation_url = ${listing.documentationUrl}, pricing = ${JSON.stringify(listing.pricing)},
            visibility = ${listing.visibility}, status = ${listing.status}, published_at = ${listing.publishedAt},
            updated_at = ${listing.updatedAt}
        where listing_id = ${listing.listingId}`,
  );
}

export const deleteListing = (db: Queryable, listingId: string): Promise<number> =>
  db.run('listings.delete', sql`delete from listings where listing_id = ${listingId}`);

export const findListing = (
  db: Queryable,
  tenant: string | undefined,
  listingId: string,
): Promise<StoredListing | undefined> =>
  db.maybe(
    'listings.find',
    sql`select ${columns} from listings l where l.listing_id = ${listingId} and ${ofTenant(tenant)}`,
  );

export const lockListing = (
  tx: Queryable,
  tenant: string | undefined,
  listingId: string,
): Promise<StoredListing | undefined> =>
  tx.maybe(
    'listings.lock',
    sql`select ${columns} from listings l where l.listing_id = ${listingId} and ${ofTenant(tenant)} for update`,
  );

export async function listListings(db: Queryable, tenant: string | undefined, query: ListingQuery) {
  const { agentId, status } = query;
  const counted = [ofTenant(tenant), ...(status === undefined ? [] : [sql`l.status = ${status}`])];
  const matches = join(agentId === undefined ? counted : [...counted, sql`l.agent_id = ${agentId}`], ' and ');
  const rows = await db.many<StoredListing>(
    'listings.list',
    sql`select ${columns} from listings l where ${matches}
        order by l.created_at desc, l.listing_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  return {
    rows,
    total: agentId === undefined ? await countListings(db, matches) : await countMatches(db, matches),
  };
}

/** For filters that `listing_counts` does not know. */
const countMatches = async (db: Queryable, matches: Sql): Promise<number> => {
  const { total } = await db.one<{ total: number }>(
    'listings.countMatches',
    sql`select count(*) as total from listings l where ${matches}`,
  );
  return total;
};

export const countListings = async (db: Queryable, matches: Sql): Promise<number> => {
  const { total } = await db.one<{ total: number }>(
    'listings.count',
    sql`select coalesce(sum(l.listings), 0)::bigint as total from listing_counts l where ${matches}`,
  );
  return total;
};

/** Whether a published listing is visible to callers of this organization, or to anonymous callers. */
export const visibleTo = (organizationId: string | undefined) => sql`
  ${organizationId === undefined ? sql`l.visibility = 'public'` : sql`(l.visibility = 'public' or l.organization_id = ${organizationId})`}
  and l.organization_id not in (select o.organization_id from organizations o where o.status <> 'active')`;

/** Works for `listing_counts` too, which has the same columns. */
export const publishedAndVisibleTo = (organizationId: string | undefined) =>
  sql`l.status = 'published' and l.agent_active and ${visibleTo(organizationId)}`;

export const findPublished = (
  db: Queryable,
  organizationId: string | undefined,
  listingId: string,
): Promise<StoredListing | undefined> =>
  db.maybe(
    'listings.findPublished',
    sql`select ${columns} from listings l where l.listing_id = ${listingId} and ${publishedAndVisibleTo(organizationId)}`,
  );

/** The agents that have a listing; their listings are locked until the transaction ends. */
export async function lockListingsOf(tx: Queryable, agentIds: readonly string[]): Promise<string[]> {
  const rows = await tx.many<{ agentId: string }>(
    'listings.lockByAgents',
    sql`select agent_id as "agentId" from listings where agent_id = any(${agentIds}::uuid[])
        order by agent_id for update`,
  );
  return rows.map(({ agentId }) => agentId);
}

export async function updateAgentFields(tx: Queryable, facts: AgentFacts, verified: boolean): Promise<void> {
  await tx.run(
    'listings.updateAgentFields',
    sql`update listings
        set agent_type = ${facts.agentType}, version = ${facts.version}, capabilities = ${facts.capabilities},
            agent_active = ${facts.status === 'active'}, verified = ${verified}
        where agent_id = ${facts.agentId}`,
  );
}

export async function findInterfaces(db: Queryable, agentId: string): Promise<string[]> {
  const row = await db.maybe<{ endpoints: Listing['endpoints'] }>(
    'listings.interfaces',
    sql`select l.endpoints from listings l where l.agent_id = ${agentId} and ${publishedAndVisibleTo(undefined)}`,
  );
  return (row?.endpoints ?? []).filter(({ protocol }) => protocol === 'a2a').map(({ url }) => url);
}
