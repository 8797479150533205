/** Reads tables of other features; feature.ts lists them. Every query is bounded by the rows that it reads or counts. */
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { holdsWritingScope, writingScopesOf } from '../../kernel/data/writing-scopes.ts';
import type { Overview } from './schema.ts';

export const countAgents = (db: Queryable, organizationId: string): Promise<Overview['agents']> =>
  db.one(
    'overview.agents',
    sql`select coalesce(sum(agents) filter (where status = 'active'), 0)::bigint as active,
               coalesce(sum(agents) filter (where status = 'suspended'), 0)::bigint as suspended
        from agent_counts where organization_id = ${organizationId}`,
  );

/** The tokens of whole hours of UTC. */
export const sumTokens = async (db: Queryable, organizationId: string, since: string): Promise<number> =>
  (
    await db.one<{ tokens: number }>(
      'overview.tokensToday',
      sql`select coalesce(sum(tokens), 0)::bigint as tokens from token_hours
          where organization_id = ${organizationId} and hour >= ${since}::timestamptz`,
    )
  ).tokens;

export interface EventCounts {
  /** How many events were read: the newest ones of the period. */
  readonly read: number;
  readonly oldest: string | null;
  readonly minutes: readonly { readonly minute: string; readonly issued: number; readonly refused: number }[];
  /** The most frequent first. */
  readonly reasons: NonNullable<Overview['refusals']>['data'];
}

/**
 * One scan of the newest events for all figures. Only refusals have their metadata parsed. A refusal by a policy names the action that
 * was refused. Refusals that are not recorded one by one are counted by `refusals.suppressed`.
 */
export async function readRecentEvents(
  db: Queryable,
  organizationId: string,
  { since, firstMinute, until, limit }: { since: string; firstMinute: string; until: string; limit: number },
): Promise<EventCounts> {
  const { minutes, reasons, ...rest } = await db.one<EventCounts>(
    'overview.events',
    sql`with newest as materialized (
          select occurred_at, action, case when outcome = 'failure' then metadata end as metadata from audit_events
          where organization_id = ${organizationId} and occurred_at between ${since} and ${until}
          order by occurred_at desc limit ${limit}
        ), minutes as (
          select date_trunc('minute', occurred_at, 'UTC') as minute, count(*) filter (where action = 'token.issued') as issued,
                 count(*) filter (where action = 'token.refused') as refused
          from newest where action in ('token.issued', 'token.refused') and occurred_at >= ${firstMinute} group by 1
        ), reasons as (
          select action, left(coalesce(metadata ->> 'reason', metadata ->> 'action'), 200) as reason,
                 sum(case when action = 'refusals.suppressed' then (metadata ->> 'suppressed')::bigint else 1 end)::bigint as count
          from newest where metadata is not null and (action like '%.refused' or action = 'refusals.suppressed')
          group by 1, 2 order by 3 desc, 1, 2
        )
        select (select count(*) from newest) as read, (select min(occurred_at) from newest) as oldest,
               coalesce((select json_agg(m) from minutes m), '[]') as minutes,
               coalesce((select json_agg(r) from reasons r), '[]') as reasons`,
  );
  return { ...rest, minutes, reasons };
}

/**
 * The requests that wait, and the median of the seconds that people took for the decisions since then. A request lapses after a day, so
 * older ones have no decision in the period.
 */
export const readApprovals = (
  db: Queryable,
  organizationId: string,
  { since, now, limit }: { since: string; now: string; limit: number },
): Promise<NonNullable<Overview['approvals']>> =>
  db.one(
    'overview.approvals',
    sql`with newest as (
          select status, created_at, decided_at, expires_at from approvals
          where organization_id = ${organizationId} and created_at > ${since}::timestamptz - interval '1 day'
          order by created_at desc limit ${limit}
        )
        select count(*) filter (where status = 'pending' and expires_at > ${now}) as waiting,
               percentile_cont(0.5) within group (order by extract(epoch from decided_at - created_at)::float8)
                 filter (where status in ('approved', 'denied') and decided_at >= ${since}) as "medianDecisionSeconds"
        from newest`,
  );

type ExpiringCredential = Overview['expiringCredentials']['data'][number] & { readonly total: number };

/** The first `limit`, each with the number of all of them up to `maxCount`. */
export const findExpiring = (
  db: Queryable,
  organizationId: string,
  { from, to, maxCount, limit }: { from: string; to: string; maxCount: number; limit: number },
): Promise<ExpiringCredential[]> =>
  db.many(
    'overview.expiring',
    sql`select "agentId", email, "credentialId", name, "expiresAt", count(*) over () as total
        from (
          select a.agent_id as "agentId", a.email, c.credential_id as "credentialId", c.name, c.expires_at as "expiresAt"
          from credentials c join agents a using (agent_id)
          where c.status = 'active' and c.expires_at is not null and c.expires_at > ${from} and c.expires_at <= ${to}
            and a.organization_id = ${organizationId}
          order by c.expires_at, c.credential_id limit ${maxCount}
        ) expiring
        order by "expiresAt", "credentialId" limit ${limit}`,
  );

type WritingAgent = Overview['writingAgents']['data'][number] & { readonly total: number };

/** The first `limit`, each with the number of all of them up to `maxCount`. */
export const findWritingAgents = (
  db: Queryable,
  organizationId: string,
  { maxCount, limit }: { maxCount: number; limit: number },
): Promise<WritingAgent[]> =>
  db.many(
    'overview.writingAgents',
    sql`select "agentId", email, scopes, count(*) over () as total
        from (
          select agent_id as "agentId", email, ${writingScopesOf} as scopes, created_at from agents
          where organization_id = ${organizationId} and ${holdsWritingScope}
          order by created_at desc, agent_id desc limit ${maxCount}
        ) holders
        order by created_at desc, "agentId" desc limit ${limit}`,
  );

/** An organization has few subscriptions; each of their deliveries is found by subscription and status. */
export const findFailingWebhooks = (
  db: Queryable,
  organizationId: string,
  maxCount: number,
): Promise<NonNullable<Overview['failingDeliveries']>> =>
  db.many(
    'overview.failing',
    sql`select s.subscription_id as id, s.name, s.url, s.active, failed.count as failed, dead.count as "deadLetter",
               coalesce(last.attempt ->> 'error', 'HTTP status ' || (last.attempt ->> 'http_status_code')) as "lastError",
               last.updated_at as "lastFailedAt"
        from webhook_subscriptions s
        cross join lateral (${countDeliveries('failed', maxCount)}) failed
        cross join lateral (${countDeliveries('dead_letter', maxCount)}) dead
        left join lateral (
          select attempts -> -1 as attempt, updated_at
          from ((${newestDelivery('failed')}) union all (${newestDelivery('dead_letter')})) newest
          order by updated_at desc limit 1
        ) last on true
        where s.organization_id = ${organizationId} and failed.count + dead.count > 0
        order by last.updated_at desc, s.subscription_id`,
  );

type FailedStatus = 'failed' | 'dead_letter';

const countDeliveries = (status: FailedStatus, maxCount: number) => sql`
  select count(*) from (
    select from webhook_deliveries d where d.subscription_id = s.subscription_id and d.status = ${status} limit ${maxCount}
  ) counted`;

const newestDelivery = (status: FailedStatus) => sql`
  select d.attempts, d.updated_at from webhook_deliveries d
  where d.subscription_id = s.subscription_id and d.status = ${status} order by d.created_at desc, d.delivery_id desc limit 1`;

/** The oldest agents are enough to see a credential: after the first token nothing else matters. */
const maxAgents = 1_000;

/** Without the agent of the caller, which has a credential and a token itself. */
export const findFirstSteps = (
  db: Queryable,
  organizationId: string,
  callerId: string,
): Promise<Overview['firstSteps'] & { readonly exists: boolean }> =>
  db.one(
    'overview.firstSteps',
    sql`with others as materialized (
          select agent_id, public_keys, created_at from agents
          where organization_id = ${organizationId} and agent_id <> ${callerId} and status <> 'decommissioned'
          order by created_at, agent_id limit ${maxAgents}
        ), steps as materialized (
          select exists (
            select from token_months where organization_id = ${organizationId} and agent_id <> ${callerId}
          ) as tokens
        )
        select exists (select from organizations where organization_id = ${organizationId}) as exists,
               tokens or exists (select from others) as agents,
               tokens or exists (
                 select from others o where o.public_keys::text <> '[]'
                   or exists (select from credentials c where c.agent_id = o.agent_id and c.status = 'active')
               ) as credentials,
               tokens, (select agent_id from others order by created_at, agent_id limit 1) as "agentId"
        from steps`,
  );
