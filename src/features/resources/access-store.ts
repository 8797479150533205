/** Reads that other features need of resources and grants. */
import type { Queryable } from '../../kernel/data/db.ts';
import { prepared, sql } from '../../kernel/data/sql.ts';
import type { AgentGrant, HeldScopes, RegisteredResource } from '../../kernel/ports/resources.ts';

/** Undefined when no resource has, or had, this identifier. */
export async function findAgentGrant(
  db: Queryable,
  agentId: string,
  identifier: string,
): Promise<AgentGrant | undefined> {
  const row = await db.maybe<RegisteredResource & { scopes: HeldScopes }>(
    'resources.findAgentGrant',
    prepared(sql`
      select r.resource_id as "resourceId", r.organization_id as "organizationId", r.identifier,
        r.deleted_at is not null as deleted, r.token_lifetime_seconds as "tokenLifetimeSeconds", r.claims,
        coalesce(g.scopes, '{}') as scopes
      from resources r left join resource_grants g on g.resource_id = r.resource_id and g.agent_id = ${agentId}
      where r.identifier = ${identifier}`),
  );
  if (!row) return undefined;
  const { scopes, ...resource } = row;
  return { resource, scopes };
}
