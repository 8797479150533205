/** Keeps the tables of use small: past days need no shards, and what is very old goes. */
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';

const atOnce = 5_000;

/** The columns that say what a row counts, besides its shard; when; and how much. */
const tables = {
  usage_days: {
    table: sql`usage_days`,
    what: sql`organization_id, day, metric, agent_id`,
    time: sql`day`,
    figure: sql`quantity`,
  },
  token_hours: {
    table: sql`token_hours`,
    what: sql`organization_id, hour`,
    time: sql`hour`,
    figure: sql`tokens`,
  },
  token_months: {
    table: sql`token_months`,
    what: sql`organization_id, month, agent_id`,
    time: sql`month`,
    figure: sql`tokens`,
  },
} as const;

export type CountedTable = keyof typeof tables;
export const countedTables = Object.keys(tables) as CountedTable[];

/** Adds what stands in shards up into shard 0; answers whether there may be more. */
export async function joinShards(db: Queryable, name: CountedTable, before: Date): Promise<boolean> {
  const { table, what, time, figure } = tables[name];
  const { moved } = await db.one<{ moved: number }>(
    `usage.join.${name}`,
    sql`with moved as (
          delete from ${table} where ctid = any (array(
            select ctid from ${table} where shard <> 0 and ${time} < ${before.toISOString()}::timestamptz limit ${atOnce}))
          returning ${what}, ${figure}
        ), added as (
          insert into ${table} as t (${what}, shard, ${figure})
          select ${what}, 0, sum(${figure}) from moved group by ${what} order by ${what}
          on conflict (${what}, shard) do update set ${figure} = t.${figure} + excluded.${figure}
        )
        select count(*) as moved from moved`,
  );
  return moved === atOnce;
}

/** Answers whether there may be more. */
export async function deleteOld(db: Queryable, name: CountedTable, before: Date): Promise<boolean> {
  const { table, time } = tables[name];
  const deleted = await db.run(
    `usage.delete.${name}`,
    sql`delete from ${table} where ctid = any (array(select ctid from ${table} where ${time} < ${before.toISOString()}::timestamptz limit ${atOnce}))`,
  );
  return deleted === atOnce;
}
