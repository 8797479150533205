/** Compares two signed checkpoints of one instance log: the smaller tree must be the beginning of the larger one. */
import type { Checkpoint } from '../transparency/checkpoint.ts';
import { proveConsistency } from '../transparency/prove.ts';
import type { ReadTile } from '../transparency/read-hashes.ts';
import { verifyConsistency } from '../transparency/verify-proof.ts';
import { type Finding, finding } from './findings.ts';

type Tree = Pick<Checkpoint, 'size' | 'root'>;

/** The tiles are not trusted: a proof from wrong tiles does not lead to the roots. */
export async function forkFinding(
  readTile: ReadTile,
  one: Tree,
  another: Tree,
): Promise<Finding<'LOG_FORKED'> | undefined> {
  const [older, newer] = one.size <= another.size ? [one, another] : [another, one];
  const proof = await proveConsistency(readTile, older.size, newer.size);
  const isConsistent = verifyConsistency({
    oldSize: older.size,
    oldRoot: older.root,
    newSize: newer.size,
    newRoot: newer.root,
    proof,
  });
  return isConsistent ? undefined : finding('LOG_FORKED', { size: older.size });
}

/** `served` is the newest checkpoint that the log answers with now. */
export const shorterFinding = (served: Tree, known: Tree): Finding<'LOG_SHORTENED'> | undefined =>
  served.size < known.size ? finding('LOG_SHORTENED', { size: served.size, known: known.size }) : undefined;
