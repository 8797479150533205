/** Creates thousands of agents with credentials in SQL. */
import { createHash } from 'node:crypto';
import type pg from 'pg';

export const agentsPerOrganization = 1_000;

export interface Agent {
  readonly agentId: string;
  readonly organizationId: string;
}

/** Creates organizations number `from` to `to`, with `agentsEach` agents each. */
export async function fillAgents(
  client: pg.Client,
  from: number,
  to: number,
  agentsEach = agentsPerOrganization,
): Promise<void> {
  await client.query(
    `insert into organizations (organization_id, name, slug, plan_tier, status, created_at, updated_at)
     select gen_random_uuid(), 'Bench ' || i, 'bench-' || i, 'enterprise', 'active', now(), now()
     from generate_series($1::int, $2::int) i`,
    [from, to],
  );
  await client.query(
    `insert into agents (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env,
                         status, allowed_scopes, created_at, updated_at)
     select gen_random_uuid(), o.organization_id, o.slug || '-' || n || '@example.com',
            (array['screener','classifier','orchestrator','extractor','summarizer','router','monitor','custom'])[1 + n % 8],
            '1.0.0', array['bench:run'], 'team-' || n % 10, 'production', 'active',
            array['agents:read', 'tokens:read'], now() - n * interval '1 second', now()
     from organizations o, generate_series(1, $3::int) n
     where o.slug in (select 'bench-' || i from generate_series($1::int, $2::int) i)`,
    [from, to, agentsEach],
  );
  // The same derivation as secretOf.
  await client.query(
    `insert into credentials (credential_id, agent_id, secret_hash, status, created_at)
     select gen_random_uuid(), agent_id,
            sha256(('cs_' || substr(encode(sha256(agent_id::text::bytea), 'hex'), 1, 43))::bytea), 'active', now()
     from agents join organizations o using (organization_id)
     where o.slug in (select 'bench-' || i from generate_series($1::int, $2::int) i)`,
    [from, to],
  );
}

/** Derived from the id, so that secrets need not be stored; as long as a real one. */
export const secretOf = ({ agentId }: Agent): string =>
  `cs_${createHash('sha256').update(agentId).digest('hex').slice(0, 43)}`;

/** Random agents, so that consecutive requests read different pages. */
export async function someAgents(client: pg.Client, count: number, slug = 'bench-%'): Promise<Agent[]> {
  const { rows } = await client.query<Agent>(
    `select agent_id as "agentId", organization_id as "organizationId"
     from agents join organizations o using (organization_id) where o.slug like $2 order by random() limit $1`,
    [count, slug],
  );
  if (rows.length !== count) throw new Error(`there are ${rows.length} agents instead of ${count}`);
  return rows;
}

/** Registers a resource with ten scopes and grants all agents three of them. Returns its identifier. */
export async function grantResource(client: pg.Client): Promise<string> {
  const identifier = 'https://api.bench.example/v1';
  await client.query(
    `with resource as (
       insert into resources (resource_id, organization_id, identifier, name, scopes, token_lifetime_seconds, claims,
                              created_at, updated_at)
       select gen_random_uuid(), organization_id, $1, 'Bench',
              (select jsonb_agg(jsonb_build_object('name', 'scope:' || n, 'description', null)) from generate_series(1, 10) n),
              3600, array['agentType', 'owner'], now(), now()
       from organizations where slug = 'bench-1' returning resource_id)
     insert into resource_grants (agent_id, resource_id, organization_id, scopes, granted_by, created_at, updated_at)
     select agent_id, resource_id, organization_id,
            (select jsonb_object_agg('scope:' || n, now()) from generate_series(1, 3) n), agent_id, now(), now()
     from agents, resource`,
    [identifier],
  );
  await client.query('analyze resources');
  await client.query('analyze resource_grants');
  return identifier;
}

/** `each` agents of each of the first organizations, in random order. */
export async function agentsOfFirst(
  client: pg.Client,
  organizations: number,
  each: number,
): Promise<Agent[]> {
  const { rows } = await client.query<Agent>(
    `select agent_id as "agentId", organization_id as "organizationId"
     from (select agent_id, organization_id, row_number() over (partition by organization_id) as n
           from agents join organizations o using (organization_id)
           where o.slug in (select 'bench-' || i from generate_series(1, $1::int) i)) numbered
     where n <= $2 order by random()`,
    [organizations, each],
  );
  if (rows.length !== organizations * each)
    throw new Error(`there are ${rows.length} agents instead of ${organizations * each}`);
  return rows;
}
