/** Resources and grants by SQL, for tests of the features that read them. */
import { randomUUID } from 'node:crypto';
import type { TestApp } from '../../harness.ts';

export interface ResourceRow {
  readonly resourceId: string;
  readonly identifier: string;
}

export const createResourceRows = (t: TestApp) => ({
  /** A resource with these scopes, by default of the operator's organization. */
  async insertResource(
    scopes: readonly string[],
    { identifier = `https://${randomUUID()}.example/api`, organizationId = t.operator.organizationId } = {},
  ): Promise<ResourceRow> {
    const resourceId = randomUUID();
    await t.sql(
      `insert into resources (resource_id, organization_id, identifier, name, scopes, token_lifetime_seconds, claims,
         created_at, updated_at)
       values ($1, $2, $3, 'Some API', $4, 3600, '{}', now(), now())`,
      [
        resourceId,
        organizationId,
        identifier,
        JSON.stringify(scopes.map((name) => ({ name, description: null }))),
      ],
    );
    return { resourceId, identifier };
  },

  /** Sets the scopes that the agent holds, since the hour before; none removes the grant. */
  async setGrant(agentId: string, { resourceId }: ResourceRow, scopes: readonly string[]): Promise<void> {
    const since = new Date(t.clock.now() - 3_600_000).toISOString();
    const held = JSON.stringify(Object.fromEntries(scopes.map((scope) => [scope, since])));
    await t.sql(
      scopes.length === 0
        ? 'delete from resource_grants where agent_id = $1 and resource_id = $2 and $3::jsonb is not null'
        : `insert into resource_grants (agent_id, resource_id, organization_id, scopes, granted_by, created_at, updated_at)
           select $1, $2, organization_id, $3, $1, now(), now() from agents where agent_id = $1
           on conflict (agent_id, resource_id) do update set scopes = excluded.scopes`,
      [agentId, resourceId, held],
    );
  },

  /** The row stays: the identifier is reserved. */
  deleteResource: ({ resourceId }: ResourceRow) =>
    t.sql('update resources set deleted_at = now() where resource_id = $1', [resourceId]),
});
