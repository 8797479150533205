/** Writes `usage_days`, `token_hours` and `token_months`. */
import type { UsageMetric } from '../../contract/usage.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { listOf, prepared, sql } from '../../kernel/data/sql.ts';
import { offsetOf, type PageRequest } from '../../kernel/http/page.ts';
import type { Period } from './period.ts';

export interface UsageRow {
  readonly organizationId: string;
  readonly day: string;
  readonly metric: UsageMetric;
  readonly agentId: string;
  readonly quantity: number;
}

/** Tokens issued to one agent at one time. */
export interface TokenRow {
  readonly organizationId: string;
  readonly agentId: string;
  readonly tokens: number;
}

/** Rows are locked in the order of the key, so that two transactions do not deadlock. */
export async function insertUsage(db: Queryable, rows: readonly UsageRow[], shard: number): Promise<void> {
  await db.run(
    'usage.add',
    prepared(sql`
      insert into usage_days as u (organization_id, day, metric, agent_id, shard, quantity)
      select organization_id, day, metric, agent_id, ${String(shard)}::smallint, quantity
      from unnest(${rows.map(({ organizationId }) => organizationId)}::uuid[], ${rows.map(({ day }) => day)}::date[],
                  ${rows.map(({ metric }) => metric)}::text[], ${rows.map(({ agentId }) => agentId)}::uuid[],
                  ${rows.map(({ quantity }) => String(quantity))}::bigint[])
           as counted (organization_id, day, metric, agent_id, quantity)
      order by 1, 2, 3, 4
      on conflict (organization_id, day, metric, agent_id, shard) do update set quantity = u.quantity + excluded.quantity`),
  );
}

/**
 * Updates all three tables in one statement, because it runs for every token. `time` is ISO 8601. Rows are locked in the order of
 * the keys, and tables in this order, so that two transactions do not deadlock.
 */
export function insertTokensAtCommit(tx: Tx, time: string, rows: readonly TokenRow[], shard: number): void {
  const ownShard = sql`${String(shard)}::smallint`;
  tx.atCommit(
    'usage.addTokens',
    prepared(sql`
      with issued as materialized (
        select organization_id, agent_id, tokens
        from unnest(${listOf(rows.map(({ organizationId }) => organizationId))}::uuid[],
                    ${listOf(rows.map(({ agentId }) => agentId))}::uuid[],
                    ${listOf(rows.map(({ tokens }) => String(tokens)))}::bigint[])
             as issued (organization_id, agent_id, tokens)
        order by organization_id, agent_id
      ), days as (
        insert into usage_days as u (organization_id, day, metric, agent_id, shard, quantity)
        select organization_id, ${time.slice(0, 10)}::date, 'tokens_issued', agent_id, ${ownShard}, tokens from issued
        on conflict (organization_id, day, metric, agent_id, shard) do update set quantity = u.quantity + excluded.quantity
      ), hours as (
        insert into token_hours as t (organization_id, hour, shard, tokens)
        select organization_id, ${`${time.slice(0, 13)}:00:00Z`}::timestamptz, ${ownShard}, sum(tokens) from issued
        group by 1 order by 1
        on conflict (organization_id, hour, shard) do update set tokens = t.tokens + excluded.tokens
      )
      insert into token_months as t (organization_id, month, agent_id, shard, tokens)
      select organization_id, ${`${time.slice(0, 7)}-01`}::date, agent_id, ${ownShard}, tokens from issued
      on conflict (organization_id, month, agent_id, shard) do update set tokens = t.tokens + excluded.tokens`),
  );
}

export async function sumOfDay(
  db: Queryable,
  organizationId: string,
  day: string,
  metric: UsageMetric,
): Promise<number> {
  const { used } = await db.one<{ used: number }>(
    'usage.sumOfDay',
    prepared(sql`
      select coalesce(sum(quantity), 0)::bigint as used from usage_days
      where organization_id = ${organizationId} and day = ${day}::date and metric = ${metric}`),
  );
  return used;
}

/** Issued tokens by id: of each organization on the day, of each agent in the month. Ids without tokens are absent. */
export async function sumTokens(
  db: Queryable,
  organizationIds: readonly string[],
  agentIds: readonly string[],
  { day, month }: { day: string; month: string },
): Promise<Map<string, number>> {
  const rows = await db.many<{ id: string; tokens: number }>(
    'usage.sumTokens',
    prepared(sql`
      select organization_id as id, sum(tokens)::bigint as tokens from token_hours
      where organization_id = any(${organizationIds}::uuid[])
        and hour >= ${day}::timestamptz and hour < ${day}::timestamptz + interval '1 day'
      group by 1
      union all
      select agent_id, sum(tokens)::bigint from token_months
      where organization_id = any(${organizationIds}::uuid[]) and month = ${month}::date
        and agent_id = any(${agentIds}::uuid[])
      group by 1`),
  );
  return new Map(rows.map(({ id, tokens }) => [id, tokens]));
}

/**
 * By agent id: the day of the newest token. Agents without tokens in the given months are absent. The month comes first: one probe of an
 * index for each of a few months, and then for each day of one.
 */
export async function findLastTokenDates(
  db: Queryable,
  agents: readonly { readonly organizationId: string; readonly agentId: string }[],
  months: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.many<{ agentId: string; date: string }>(
    'usage.lastTokenDates',
    sql`select w.agent_id as "agentId", d.day::text as date
        from unnest(${agents.map(({ organizationId }) => organizationId)}::uuid[],
                    ${agents.map(({ agentId }) => agentId)}::uuid[]) as w (organization_id, agent_id)
        cross join lateral (
          select max(month) as month from token_months
          where organization_id = w.organization_id and agent_id = w.agent_id and month = any(${months}::date[])
        ) m
        cross join lateral (
          select max(day) as day from usage_days
          where organization_id = w.organization_id and metric = 'tokens_issued' and agent_id = w.agent_id
            and day = any(array(select generate_series(m.month, m.month + 31, interval '1 day')::date))
        ) d
        where d.day is not null`,
  );
  return new Map(rows.map(({ agentId, date }) => [agentId, date]));
}

export interface UsageFilter extends Period {
  readonly organizationId: string;
  readonly metric: UsageMetric | undefined;
}

export type UsageTotal = Pick<UsageRow, 'metric' | 'quantity'> & {
  readonly date: string;
  readonly agentId?: string;
};

const matching = ({ organizationId, from, to, metric }: UsageFilter) => sql`
  organization_id = ${organizationId} and day between ${from}::date and ${to}::date
  and (${metric ?? null}::text is null or metric = ${metric ?? null})`;

export const listByDay = (db: Queryable, filter: UsageFilter): Promise<UsageTotal[]> =>
  db.many(
    'usage.byDay',
    sql`select day::text as date, metric, sum(quantity)::bigint as quantity from usage_days
        where ${matching(filter)} group by day, metric order by day, metric`,
  );

const quantityOf = (metric: UsageMetric) =>
  sql`coalesce(sum(quantity) filter (where metric = ${metric}), 0)::bigint`;

/** The sums of the period for each agent: the most calls first, then the most tokens. */
export async function listSumsByAgent(db: Queryable, filter: UsageFilter, page: PageRequest) {
  const rows = await db.many<{ agentId: string; sums: Record<string, number> }>(
    'usage.sumsByAgent',
    sql`with chosen as (
          select agent_id, ${quantityOf('api_calls')} as calls, ${quantityOf('tokens_issued')} as tokens
          from usage_days where ${matching(filter)} group by agent_id
          order by calls desc, tokens desc, agent_id limit ${page.limit} offset ${offsetOf(page)}
        ), sums as (
          select agent_id, metric, sum(quantity)::bigint as quantity from usage_days join chosen using (agent_id)
          where ${matching(filter)} group by agent_id, metric
        )
        select agent_id as "agentId", jsonb_object_agg(metric, quantity) as sums
        from chosen join sums using (agent_id) group by agent_id, calls, tokens
        order by calls desc, tokens desc, agent_id`,
  );
  const { total } = await db.one<{ total: number }>(
    'usage.countAgents',
    sql`select count(distinct agent_id) as total from usage_days where ${matching(filter)}`,
  );
  return { rows, total };
}

/** A page of at most `limit` rows, after the given one (keyset pagination). */
export const listByAgent = (
  db: Queryable,
  filter: UsageFilter,
  limit: number,
  after?: UsageTotal,
): Promise<UsageTotal[]> =>
  db.many(
    'usage.byAgent',
    sql`select day::text as date, agent_id as "agentId", metric, sum(quantity)::bigint as quantity from usage_days
        where ${matching(filter)}
          ${after ? sql`and (day, metric, agent_id) > (${after.date}::date, ${after.metric}, ${after.agentId})` : sql``}
        group by day, metric, agent_id order by day, metric, agent_id limit ${limit}`,
  );
