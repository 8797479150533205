/** The checkpoints that are left of the trees of tree heads. */
import type { Queryable } from '../../../../kernel/data/db.ts';
import { prepared, sql } from '../../../../kernel/data/sql.ts';
import type { Checkpoint, TreeHead } from '../statements.ts';

export interface StoredLeaf extends Checkpoint {
  /** The number of its tree head. */
  readonly tree: number;
}

/**
 * The leaves of tree heads of one day. A leaf has the day and the time of its tree head. The day selects the partition. The
 * time bounds the scan: the BRIN index by time gives the ranges of pages to read, and all rows in them are compared.
 */
export const readLeaves = (
  db: Queryable,
  day: string,
  heads: readonly Pick<TreeHead, 'number' | 'at'>[],
): Promise<StoredLeaf[]> => {
  const times = heads.map(({ at }) => at).sort();
  const numbers = heads.map(({ number }) => number);
  return db.many(
    'audit.leaves',
    prepared(sql`
      select organization_id as "organizationId", number, size, encode(head, 'hex') as head,
             encode(previous, 'hex') as previous, taken_at as at, tree
      from audit_segments
      where taken_on = ${day}::date and taken_at >= ${times[0] as string}::timestamptz
        and taken_at <= ${times.at(-1) as string}::timestamptz
        and tree between ${Math.min(...numbers)} and ${Math.max(...numbers)}`),
  );
};

/**
 * The tree of a checkpoint, if its number is higher than that of the newest tree head. The BRIN index by time bounds the scan to the
 * checkpoints since then. Without a tree head, the tree of any checkpoint.
 */
export async function findTreeAfter(
  db: Queryable,
  newest: Pick<TreeHead, 'number' | 'at'> | undefined,
): Promise<number | undefined> {
  const { number = 0, at = '-infinity' } = newest ?? {};
  const found = await db.maybe<{ tree: number }>(
    'audit.leaves.after',
    prepared(sql`
      select tree from audit_segments
      where taken_at >= ${at}::timestamptz and taken_on >= ${newest ? at.slice(0, 10) : at}::date and tree > ${number} limit 1`),
  );
  return found?.tree;
}
