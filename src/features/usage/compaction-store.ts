/** Keeps the usage tables small: merges the shards of past rows and deletes rows beyond the retention period. */
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';

const chunk = 5_000;

/** `key`: the columns that identify a counter, without its shard. */
const tables = {
  usage_days: {
    table: sql`usage_days`,
    key: sql`organization_id, day, metric, agent_id`,
    time: sql`day`,
    figure: sql`quantity`,
  },
  token_hours: {
    table: sql`token_hours`,
    key: sql`organization_id, hour`,
    time: sql`hour`,
    figure: sql`tokens`,
  },
  token_months: {
    table: sql`token_months`,
    key: sql`organization_id, month, agent_id`,
    time: sql`month`,
    figure: sql`tokens`,
  },
} as const;

export type CountedTable = keyof typeof tables;
export const countedTables = Object.keys(tables) as CountedTable[];

/** Sums the shards into shard 0; returns whether there may be more. */
export async function mergeShards(db: Queryable, name: CountedTable, before: Date): Promise<boolean> {
  const { table, key, time, figure } = tables[name];
  const { moved } = await db.one<{ moved: number }>(
    `usage.merge.${name}`,
    sql`with moved as (
          delete from ${table} where ctid = any (array(
            select ctid from ${table} where shard <> 0 and ${time} < ${before.toISOString()}::timestamptz limit ${chunk}))
          returning ${key}, ${figure}
        ), added as (
          insert into ${table} as t (${key}, shard, ${figure})
          select ${key}, 0, sum(${figure}) from moved group by ${key} order by ${key}
          on conflict (${key}, shard) do update set ${figure} = t.${figure} + excluded.${figure}
        )
        select count(*) as moved from moved`,
  );
  return moved === chunk;
}

/** Returns whether there may be more. */
export async function deleteOld(db: Queryable, name: CountedTable, before: Date): Promise<boolean> {
  const { table, time } = tables[name];
  const deleted = await db.run(
    `usage.delete.${name}`,
    sql`delete from ${table} where ctid = any (array(select ctid from ${table} where ${time} < ${before.toISOString()}::timestamptz limit ${chunk}))`,
  );
  return deleted === chunk;
}
