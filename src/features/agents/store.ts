import { operatorScope } from '../../contract/scopes.ts';
import type { Queryable } from '../../kernel/db.ts';
import { offsetOf } from '../../kernel/page.ts';
import { empty, join, sql } from '../../kernel/sql.ts';
import type { Agent, AgentQuery } from './schema.ts';

const columns = sql`
  agent_id as "agentId", organization_id as "organizationId", email, agent_type as "agentType", version, capabilities,
  owner, deployment_env as "deploymentEnv", status, allowed_scopes as "allowedScopes", created_at as "createdAt",
  updated_at as "updatedAt"`;

/** Undefined is the operator's view: every organization. */
const ofTenant = (organizationId: string | undefined) =>
  organizationId === undefined ? sql`true` : sql`organization_id = ${organizationId}`;

/** False when the e-mail is taken. */
export async function insertAgent(db: Queryable, agent: Agent): Promise<boolean> {
  const inserted = await db.run(
    'agents.insert',
    sql`insert into agents
          (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env, status,
           allowed_scopes, created_at, updated_at)
        values
          (${agent.agentId}, ${agent.organizationId}, ${agent.email}, ${agent.agentType}, ${agent.version},
           ${agent.capabilities}, ${agent.owner}, ${agent.deploymentEnv}, ${agent.status}, ${agent.allowedScopes},
           ${agent.createdAt}, ${agent.updatedAt})
        on conflict ((lower(email))) do nothing`,
  );
  return inserted === 1;
}

export const findAgent = (
  db: Queryable,
  tenant: string | undefined,
  agentId: string,
): Promise<Agent | undefined> =>
  db.maybe(
    'agents.find',
    sql`select ${columns} from agents where agent_id = ${agentId} and ${ofTenant(tenant)}`,
  );

export async function listAgents(db: Queryable, tenant: string | undefined, query: AgentQuery) {
  const { owner, agentType, status } = query;
  const matches = join(
    [
      ofTenant(tenant),
      owner === undefined ? empty : sql`owner = ${owner}`,
      agentType === undefined ? empty : sql`agent_type = ${agentType}`,
      status === undefined ? empty : sql`status = ${status}`,
    ].filter((condition) => condition !== empty),
    ' and ',
  );
  const rows = await db.many<Agent>(
    'agents.list',
    sql`select ${columns} from agents where ${matches}
        order by created_at desc, agent_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'agents.count',
    sql`select count(*) as total from agents where ${matches}`,
  );
  return { rows, total };
}

export const findOperator = (db: Queryable): Promise<Agent | undefined> =>
  db.maybe(
    'agents.findOperator',
    sql`select ${columns} from agents
        where status = 'active' and allowed_scopes @> array[${operatorScope}]::text[]
        order by created_at, agent_id limit 1`,
  );

export async function lockAgent(tx: Queryable, agentId: string): Promise<Agent['status'] | undefined> {
  const row = await tx.maybe<Pick<Agent, 'status'>>(
    'agents.lock',
    sql`select status from agents where agent_id = ${agentId} for share`,
  );
  return row?.status;
}
