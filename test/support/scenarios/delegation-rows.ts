/** Delegations inserted as rows: hundreds of them in one statement. */
import { randomUUID } from 'node:crypto';
import type { TestApp } from '../harness.ts';

export interface ManyDelegations {
  readonly organizationId: string;
  readonly count: number;
  /** Every delegator passes on to this many delegatees. */
  readonly width?: number;
}

/** Trees of three links each level: roots, what they passed on, and what was passed on from that. Returns the ids, oldest first. */
export async function insertDelegations(
  t: TestApp,
  { organizationId, count, width = 5 }: ManyDelegations,
): Promise<string[]> {
  const agentIds = Array.from({ length: count + Math.ceil(count / 10) }, () => randomUUID());
  await t.sql(
    `insert into agents (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env, status,
                         allowed_scopes, created_at, updated_at)
     select id, $2, 'worker-' || n || '@graph.example', 'custom', '1.0.0', '{jobs:run}', 'graph-team', 'production', 'active',
            '{agents:read}', now(), now()
     from unnest($1::uuid[]) with ordinality as agent (id, n)`,
    [agentIds, organizationId],
  );
  const links: { id: string; path: string[]; from: number; to: number; subject: number }[] = [];
  let agent = 0;
  while (links.length < count) {
    const root = agent++;
    let parents: { path: string[]; agent: number }[] = [{ path: [], agent: root }];
    for (let depth = 1; depth <= 3 && links.length < count; depth += 1) {
      const next: typeof parents = [];
      for (const parent of parents.slice(0, 2))
        for (let child = 0; child < width && links.length < count; child += 1) {
          const id = randomUUID();
          const to = agent++ % agentIds.length;
          links.push({ id, path: [...parent.path, id], from: parent.agent, to, subject: root });
          next.push({ path: [...parent.path, id], agent: to });
        }
      parents = next;
    }
  }
  await t.sql(
    `insert into delegations (chain_id, parent_chain_id, root_chain_id, path, depth, organization_id, subject_id, delegator_id,
                              delegatee_id, scopes, allow_redelegation, created_at, expires_at)
     select (path::uuid[])[cardinality(path::uuid[])], (path::uuid[])[cardinality(path::uuid[]) - 1], (path::uuid[])[1], path::uuid[],
            cardinality(path::uuid[]), $2, subject, delegator, delegatee, '{agents:read}', true,
            now() + n * interval '1 millisecond', now() + interval '5 hours'
     from unnest($1::text[], $3::uuid[], $4::uuid[], $5::uuid[]) with ordinality as link (path, subject, delegator, delegatee, n)
     order by n`,
    [
      links.map(({ path }) => `{${path.join(',')}}`),
      organizationId,
      ...(['subject', 'from', 'to'] as const).map((end) => links.map((link) => agentIds[link[end]])),
    ],
  );
  return links.map(({ id }) => id);
}
