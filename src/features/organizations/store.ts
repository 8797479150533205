import type { PlanTier } from '../../contract/limits.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { join, sql } from '../../kernel/data/sql.ts';
import { createdWithin, type TimeRange } from '../../kernel/data/time-range.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import type { OrganizationQuery } from './schema.ts';
import type { OrganizationStatus } from './transitions.ts';

/** As stored: null means the plan's limit. */
export interface StoredOrganization {
  readonly organizationId: string;
  readonly name: string;
  readonly slug: string;
  readonly planTier: PlanTier;
  readonly maxAgents: number | null;
  readonly maxTokensPerMonth: number | null;
  readonly status: OrganizationStatus;
  readonly createdAt: string;
  readonly updatedAt: string;
}

const columns = sql`
  organization_id as "organizationId", name, slug, plan_tier as "planTier", max_agents as "maxAgents",
  max_tokens_per_month as "maxTokensPerMonth", status, created_at as "createdAt", updated_at as "updatedAt"`;

/** False when the slug is taken. */
export async function insertOrganization(db: Queryable, organization: StoredOrganization): Promise<boolean> {
  const { organizationId, name, slug, planTier, maxAgents, maxTokensPerMonth, status, createdAt, updatedAt } =
    organization;
  const inserted = await db.run(
    'organizations.insert',
    sql`insert into organizations
          (organization_id, name, slug, plan_tier, max_agents, max_tokens_per_month, status, created_at, updated_at)
        values
          (${organizationId}, ${name}, ${slug}, ${planTier}, ${maxAgents}, ${maxTokensPerMonth}, ${status},
           ${createdAt}, ${updatedAt})
        on conflict ((lower(slug))) do nothing`,
  );
  return inserted === 1;
}

export async function updateOrganization(db: Queryable, organization: StoredOrganization): Promise<void> {
  const { organizationId, name, planTier, maxAgents, maxTokensPerMonth, status, updatedAt } = organization;
  await db.run(
    'organizations.update',
    sql`update organizations
        set name = ${name}, plan_tier = ${planTier}, max_agents = ${maxAgents},
            max_tokens_per_month = ${maxTokensPerMonth}, status = ${status}, updated_at = ${updatedAt}
        where organization_id = ${organizationId}`,
  );
}

export const findOrganization = (db: Queryable, id: string): Promise<StoredOrganization | undefined> =>
  db.maybe('organizations.find', sql`select ${columns} from organizations where organization_id = ${id}`);

export async function listDeleted(db: Queryable, ids: readonly string[]): Promise<string[]> {
  const rows = await db.many<{ organizationId: string }>(
    'organizations.deleted',
    sql`select organization_id as "organizationId" from organizations
        where organization_id = any(${ids}::uuid[]) and status = 'deleted'`,
  );
  return rows.map(({ organizationId }) => organizationId);
}

/** Of all organizations: what a command that works on the database is told in place of an id. */
export const listOrganizationNames = (
  db: Queryable,
): Promise<Pick<StoredOrganization, 'organizationId' | 'slug' | 'name' | 'status'>[]> =>
  db.many(
    'organizations.names',
    sql`select organization_id as "organizationId", slug, name, status from organizations order by slug`,
  );

/** Locked until the transaction ends; inserts of agents that refer to it do not wait. */
export const lockOrganization = (db: Queryable, id: string): Promise<StoredOrganization | undefined> =>
  db.maybe(
    'organizations.lock',
    sql`select ${columns} from organizations where organization_id = ${id} for no key update`,
  );

export const findOrganizationBySlug = (
  db: Queryable,
  slug: string,
): Promise<StoredOrganization | undefined> =>
  db.maybe(
    'organizations.findBySlug',
    sql`select ${columns} from organizations where lower(slug) = lower(${slug})`,
  );

/** `tenant`: the one organization that the caller may see; undefined for operators, who see all. */
export async function listOrganizations(
  db: Queryable,
  tenant: string | undefined,
  query: OrganizationQuery,
  range: TimeRange,
) {
  const matches = join(
    [
      sql`(${tenant ?? null}::uuid is null or organization_id = ${tenant ?? null})
          and (${query.status ?? null}::text is null or status = ${query.status ?? null})
          and (${query.slug ?? null}::text is null or slug = ${query.slug ?? null})`,
      ...createdWithin(range),
    ],
    ' and ',
  );
  const rows = await db.many<StoredOrganization>(
    'organizations.list',
    sql`select ${columns} from organizations where ${matches}
        order by created_at desc, organization_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'organizations.count',
    sql`select count(*) as total from organizations where ${matches}`,
  );
  return { rows, total };
}
