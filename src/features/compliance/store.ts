import type { AgentFacts, CardFacts } from '../../contract/identity.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { type Sql, sql } from '../../kernel/data/sql.ts';
import { holdsWritingScope } from '../../kernel/data/writing-scopes.ts';
import type { ComplianceReport } from './schema.ts';

const cardColumns = sql`
  a.agent_id as "agentId", a.email, a.agent_type as "agentType", a.version, a.capabilities, a.owner,
  a.deployment_env as "deploymentEnv"`;

const factColumns = sql`
  ${cardColumns}, a.organization_id as "organizationId", a.status, a.created_at as "createdAt",
  a.updated_at as "updatedAt", a.public_keys as "publicKeys"`;

/** Over all columns that an agent's documents contain: any change gives another digest. */
const digest = sql`
  md5(row(a.email, a.agent_type, a.version, a.capabilities, a.owner, a.deployment_env, a.created_at, a.public_keys)::text)`;

/** Keyset cursor of a list of agents, newest first. */
export interface Cursor {
  readonly createdAt: string;
  readonly agentId: string;
}

const activeAfter = (organizationId: string, cursor: Cursor | undefined) => sql`
  a.organization_id = ${organizationId} and a.status = 'active'
  and ${cursor === undefined ? sql`true` : sql`(a.created_at, a.agent_id) < (${cursor.createdAt}, ${cursor.agentId})`}`;

const newestFirst = sql`order by a.created_at desc, a.agent_id desc`;

/** With microseconds for the cursor; the wire format has milliseconds. */
const exactTime = sql`a.created_at::text as "exactTime"`;

type ListedAgent = CardFacts & { readonly exactTime: string };

export const findActive = (
  db: Queryable,
  organizationId: string,
  after: Cursor | undefined,
  limit: number,
): Promise<ListedAgent[]> =>
  db.many(
    'compliance.activeAgents',
    sql`select ${cardColumns}, ${exactTime} from agents a where ${activeAfter(organizationId, after)}
        ${newestFirst} limit ${limit}`,
  );

export type UncheckedAgent = AgentFacts & { readonly exactTime: string; readonly digest: string };

/** Active agents without a check of their current facts under the current key. */
export const findUnchecked = (
  db: Queryable,
  { organizationId, keyId }: { organizationId: string; keyId: string },
  after: Cursor | undefined,
  limit: number,
): Promise<UncheckedAgent[]> =>
  db.many(
    'compliance.unchecked',
    sql`select ${factColumns}, ${exactTime}, ${digest} as digest from agents a
        where ${activeAfter(organizationId, after)} and not exists (
          select from badge_checks c where c.agent_id = a.agent_id and c.key_id = ${keyId} and c.facts = ${digest}
        )
        ${newestFirst} limit ${limit}`,
  );

interface BadgeCheck {
  readonly agentId: string;
  readonly digest: string;
  readonly verified: boolean;
  readonly conforms: boolean;
}

export async function saveChecks(
  db: Queryable,
  checks: readonly BadgeCheck[],
  { keyId, now }: { keyId: string; now: string },
): Promise<void> {
  await db.run(
    'compliance.saveChecks',
    sql`insert into badge_checks (agent_id, facts, key_id, verified, conforms, checked_at)
        select agent_id, facts, ${keyId}, verified, conforms, ${now}
        from unnest(${checks.map(({ agentId }) => agentId)}::uuid[], ${checks.map((check) => check.digest)}::text[],
                    ${checks.map(({ verified }) => verified)}::boolean[],
                    ${checks.map(({ conforms }) => conforms)}::boolean[]) as t (agent_id, facts, verified, conforms)
        order by agent_id
        on conflict (agent_id) do update
          set facts = excluded.facts, key_id = excluded.key_id, verified = excluded.verified,
              conforms = excluded.conforms, checked_at = excluded.checked_at`,
  );
}

export interface Counts {
  readonly active: number;
  readonly checked: number;
  readonly verified: number;
  readonly conforming: number;
}

export const countChecked = (db: Queryable, organizationId: string, keyId: string): Promise<Counts> =>
  db.one(
    'compliance.countChecked',
    sql`select count(*) as active, count(c.agent_id) as checked, count(*) filter (where c.verified) as verified,
               count(*) filter (where c.conforms) as conforming
        from agents a
        left join badge_checks c on c.agent_id = a.agent_id and c.key_id = ${keyId} and c.facts = ${digest}
        where a.organization_id = ${organizationId} and a.status = 'active'`,
  );

/** Requests for approval since then: how many had each outcome, and the newest ones. A request that has lapsed counts as expired. */
export const readApprovals = (
  db: Queryable,
  organizationId: string,
  { since, now, maxListed }: { since: string; now: string; maxListed: number },
): Promise<Omit<ComplianceReport['approvals'], 'since'>> => {
  const status = sql`case when status = 'pending' and expires_at <= ${now} then 'expired' else status end`;
  const within = sql`organization_id = ${organizationId} and created_at >= ${since}`;
  return db.one(
    'compliance.approvals',
    sql`select count(*) filter (where status = 'pending') as pending, count(*) filter (where status = 'approved') as approved,
               count(*) filter (where status = 'denied') as denied, count(*) filter (where status = 'expired') as expired,
               count(*) filter (where status = 'canceled') as canceled,
               coalesce((
                 select json_agg(newest) from (
                   select approval_id as "approvalId", agent_id as "agentId", audience as resource, scopes, ${status} as status,
                          decided_by as "decidedBy", ${wireTime(sql`created_at`)} as "createdAt",
                          ${wireTime(sql`decided_at`)} as "decidedAt"
                   from approvals where ${within} order by created_at desc, approval_id desc limit ${maxListed}
                 ) newest), '[]') as data
        from (select ${status} as status from approvals where ${within}) counted`,
  );
};

/** Inside JSON, where the driver does not convert it. */
const wireTime = (column: Sql): Sql =>
  sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Agents that hold writing scopes of our API, and all agents: of one organization, or of the instance. */
export function countWritingAgents(
  db: Queryable,
  organizationId: string | undefined,
): Promise<{ holders: number; agents: number }> {
  const within = organizationId === undefined ? sql`true` : sql`organization_id = ${organizationId}`;
  return db.one(
    'compliance.countWritingAgents',
    sql`select (select count(*) from agents where ${within} and ${holdsWritingScope}) as holders,
               (select coalesce(sum(agents), 0)::bigint from agent_counts
                where ${within} and status <> 'decommissioned') as agents`,
  );
}
