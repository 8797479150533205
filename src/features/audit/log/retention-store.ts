/** The day partitions that retention finds and drops. */
import type { Tx } from '../../../kernel/data/db.ts';
import { raw, sql } from '../../../kernel/data/sql.ts';
import { type DatedTreeHead, findHighestTreeHead } from '../chain/tree-heads-store.ts';

/** Writers queue behind the lock of `drop table`, so retention does not wait long for readers. */
export const setShortLockTimeout = (tx: Tx): Promise<number> =>
  tx.run('audit.retention.impatient', sql`set local lock_timeout = '2s'`);

/**
 * The partitions through a day: those of events, and those of segments and tree heads before that day. The newest tree head
 * stays: the next one names it.
 */
export async function findExpiredPartitions(tx: Tx, throughDay: string): Promise<string[]> {
  const rows = await tx.many<{ partition: string }>(
    'audit.retention.find',
    sql`select partition from (
          select parent.relname as parent, child.relname as partition, right(child.relname, 8) as day
          from pg_inherits
          join pg_class parent on parent.oid = inhparent
          join pg_class child on child.oid = inhrelid
          where inhparent in ('audit_events'::regclass, 'audit_segments'::regclass, 'audit_tree_heads'::regclass)
        ) days
        where day ~ '^[0-9]{8}$' and partition = parent || '_' || day
          and (day < to_char(${throughDay}::date, 'YYYYMMDD')
               or day = to_char(${throughDay}::date, 'YYYYMMDD') and parent = 'audit_events')
          and not (parent = 'audit_tree_heads'
                   and day = (select to_char(taken_on, 'YYYYMMDD') from audit_tree_heads order by number desc limit 1))
        order by partition`,
  );
  return rows.map(({ partition }) => partition);
}

/** The tree head with the highest number in these partitions. */
export async function highestTreeHeadIn(
  tx: Tx,
  partitions: readonly string[],
): Promise<DatedTreeHead | undefined> {
  const days = partitions.flatMap((name) => /^audit_tree_heads_(\d{8})$/.exec(name)?.[1] ?? []);
  return days.length === 0 ? undefined : findHighestTreeHead(tx, days);
}

/** The names come from the catalog, and `findExpiredPartitions` takes only those that end in a day. */
export async function dropPartitions(tx: Tx, partitions: readonly string[]): Promise<void> {
  if (partitions.length > 0) await tx.run('audit.retention.drop', raw(`drop table ${partitions.join(', ')}`));
}
