/**
 * Verification of tree heads. Each names the one before it, so the signature of the last covers those before. The segments
 * that are left must be the leaves that each signs. Retention may leave a gap when clocks were wrong: then the tree head
 * before the gap needs a valid signature of its own.
 */
import type { Queryable } from '../../../kernel/data/db.ts';
import type { PublicKey, ReadStatement } from '../../../kernel/ports/signer.ts';
import { type IncompleteTree, partsOf, type TreeLeaves } from '../chain/leaves/tree-leaves.ts';
import type { TreeHeadRow } from '../chain/statements.ts';
import { readTreeHeads } from '../chain/tree-heads-store.ts';
import { treeHeadFinding, treeHeadSignatureFinding } from '../chain/verify-chain.ts';
import type { Finding } from '../findings.ts';

interface TreeHeadScan {
  /** The last tree head that was verified: the next part starts there. Undefined at the end. */
  readonly last: TreeHeadRow | undefined;
  readonly finding?: Finding;
  /** Of the finding, when leaves or a tree head are missing. */
  readonly incomplete?: IncompleteTree | undefined;
}

interface TreeHeadScanDeps {
  readonly read: ReadStatement;
  readonly keys: readonly PublicKey[];
  readonly treeLeaves: Pick<TreeLeaves, 'firstIncomplete' | 'gapFinding'>;
}

/** The most of one part. A tree has as many leaves as chains grew in its pass. */
interface PartLimits {
  readonly heads: number;
  readonly leaves: number;
}

/** Verifies a part of the tree heads after `before`. With a finding, the next part starts at the same place. */
export async function verifyTreeHeads(
  db: Queryable,
  { read, keys, treeLeaves }: TreeHeadScanDeps,
  before: TreeHeadRow | undefined,
  limits: PartLimits,
): Promise<TreeHeadScan> {
  const page = await readTreeHeads(db, before?.number ?? 0, limits.heads);
  const [rows = []] = partsOf(page, limits.leaves);
  const found = (problem: Finding, incomplete?: IncompleteTree) => ({
    last: before,
    finding: problem,
    incomplete,
  });
  let previous = (await isDropped(db, before, rows)) ? undefined : before;
  for (const row of rows) {
    const isNext = row.number === (previous?.number ?? 0) + 1;
    const problem =
      treeHeadFinding(row, isNext ? previous : undefined) ??
      (previous && !isNext ? await treeHeadSignatureFinding(read, previous, keys) : undefined);
    if (problem) return found(problem);
    const missing = isNext ? undefined : await treeLeaves.gapFinding(db, row.number, previous?.number);
    if (missing) return found(missing, { number: row.number - 1, at: row.at, finding: missing });
    previous = row;
  }
  const problem = previous && rows.length > 0 && (await treeHeadSignatureFinding(read, previous, keys));
  if (problem) return found(problem);
  const incomplete = await treeLeaves.firstIncomplete(db, rows);
  if (incomplete) return found(incomplete.finding, incomplete);
  return { last: rows.length === page.length && page.length < limits.heads ? undefined : previous };
}

/** No tree head through `before` is left: retention may have dropped them, which `gapFinding` checks as for a first part. */
async function isDropped(
  db: Queryable,
  before: TreeHeadRow | undefined,
  [next]: readonly TreeHeadRow[],
): Promise<boolean> {
  if (!before || !next || next.number === before.number + 1) return false;
  const [lowest] = await readTreeHeads(db, 0, 1);
  return lowest !== undefined && lowest.number > before.number;
}

const perPart = { heads: 1_000, leaves: 20_000 };

/** All tree heads, part by part. */
export async function verifyAllTreeHeads(
  db: Queryable,
  deps: TreeHeadScanDeps,
): Promise<Finding | undefined> {
  let scan: TreeHeadScan = { last: undefined };
  do scan = await verifyTreeHeads(db, deps, scan.last, perPart);
  while (scan.last && !scan.finding);
  return scan.finding;
}
