/**
 * Verification of tree heads. Each names the one before it, so the signature of the last covers those before. Retention may
 * leave a gap when clocks were wrong: then the tree head before the gap needs a valid signature of its own.
 */
import type { Queryable } from '../../../kernel/data/db.ts';
import type { PublicKey, ReadStatement } from '../../../kernel/ports/signer.ts';
import { treeHeadFinding, treeHeadSignatureFinding } from '../chain/rules.ts';
import type { TreeHeadRow } from '../chain/statements.ts';
import { readTreeHeads } from '../chain/tree-heads-store.ts';
import type { Finding } from '../findings.ts';

export interface TreeHeadScan {
  /** The last tree head that was verified; undefined at the end. */
  readonly last: TreeHeadRow | undefined;
  readonly finding?: Finding;
}

/** Verifies at most `limit` tree heads after `before`. */
export async function verifyTreeHeads(
  db: Queryable,
  { read, keys }: { read: ReadStatement; keys: readonly PublicKey[] },
  before: TreeHeadRow | undefined,
  limit: number,
): Promise<TreeHeadScan> {
  const rows = await readTreeHeads(db, before?.number ?? 0, limit);
  let previous = before;
  for (const row of rows) {
    const isNext = previous !== undefined && row.number === previous.number + 1;
    const problem =
      treeHeadFinding(row, isNext ? previous : undefined) ??
      (previous && !isNext ? await treeHeadSignatureFinding(read, previous, keys) : undefined);
    if (problem) return { last: undefined, finding: problem };
    previous = row;
  }
  const problem = previous && rows.length > 0 && (await treeHeadSignatureFinding(read, previous, keys));
  if (problem) return { last: undefined, finding: problem };
  return { last: rows.length < limit ? undefined : previous };
}

const perPage = 1_000;

/** All tree heads, page by page. */
export async function verifyAllTreeHeads(
  db: Queryable,
  trusted: { read: ReadStatement; keys: readonly PublicKey[] },
): Promise<Finding | undefined> {
  let scan: TreeHeadScan = { last: undefined };
  do scan = await verifyTreeHeads(db, trusted, scan.last, perPage);
  while (scan.last);
  return scan.finding;
}
