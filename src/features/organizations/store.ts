import type { Queryable } from '../../kernel/db.ts';
import { sql } from '../../kernel/sql.ts';
import type { Organization } from './schema.ts';

const columns = sql`
  organization_id as "organizationId", name, slug, plan_tier as "planTier", max_agents as "maxAgents",
  max_tokens_per_month as "maxTokensPerMonth", status, created_at as "createdAt", updated_at as "updatedAt"`;

/** False when the slug is taken. */
export async function insertOrganization(db: Queryable, organization: Organization): Promise<boolean> {
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

export const findOrganization = (db: Queryable, organizationId: string): Promise<Organization | undefined> =>
  db.maybe(
    'organizations.find',
    sql`select ${columns} from organizations where organization_id = ${organizationId}`,
  );

export const findOrganizationBySlug = (db: Queryable, slug: string): Promise<Organization | undefined> =>
  db.maybe(
    'organizations.findBySlug',
    sql`select ${columns} from organizations where lower(slug) = lower(${slug})`,
  );
