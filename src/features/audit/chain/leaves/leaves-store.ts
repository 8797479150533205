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
