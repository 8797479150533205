/** Reads `token_hours` and `token_months`, which the usage feature writes. */
import type { Queryable } from '../../kernel/data/db.ts';
import { prepared, sql } from '../../kernel/data/sql.ts';
import type { Activity, TokensByAgent, TokensByDay } from './schema.ts';

/** Days with tokens only. */
export const tokensByDay = (
  db: Queryable,
  organizationId: string,
  from: Date,
): Promise<TokensByDay['data']> =>
  db.many(
    'analytics.tokensByDay',
    prepared(sql`
      select (hour at time zone 'UTC')::date::text as date, sum(tokens)::bigint as count from token_hours
      where organization_id = ${organizationId} and hour >= ${from.toISOString()}::timestamptz group by 1`),
  );

/** Hours of the week with tokens only. */
export const tokensByHourOfWeek = (
  db: Queryable,
  organizationId: string,
  from: Date,
): Promise<Activity['data']> =>
  db.many(
    'analytics.tokensByHourOfWeek',
    prepared(sql`
      select date_part('dow', hour at time zone 'UTC')::int as dow, date_part('hour', hour at time zone 'UTC')::int as hour,
             sum(tokens)::bigint as count
      from token_hours where organization_id = ${organizationId} and hour >= ${from.toISOString()}::timestamptz
      group by 1, 2`),
  );

export const tokensByAgent = (
  db: Queryable,
  organizationId: string,
  month: string,
  limit: number,
): Promise<TokensByAgent['data']> =>
  db.many(
    'analytics.tokensByAgent',
    prepared(sql`
      select agent_id as "agentId", sum(tokens)::bigint as "tokenCount" from token_months
      where organization_id = ${organizationId} and month = ${`${month}-01`}::date
      group by 1 order by 2 desc, 1 limit ${limit}`),
  );
