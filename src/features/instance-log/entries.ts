/**
 * The entries of a log: the last checkpoint of the log before, when there was one, and then the signed tree heads without a gap. They
 * are kept in the audit log; this feature keeps only their hashes.
 */
import { leafHash } from '../../../sdk/typescript/src/audit/merkle.ts';
import { formatEntryBundle } from '../../../sdk/typescript/src/transparency/entry-bundle.ts';
import type { ReadTile } from '../../../sdk/typescript/src/transparency/read-hashes.ts';
import { fullWidth, type HashTile } from '../../../sdk/typescript/src/transparency/tile.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import type { InstanceLogDeps } from './feature.ts';
import { type LogRow, readTileHashes } from './store.ts';

const hashBytes = 32;

type TreeHeadsOf = Pick<LogRow, 'previousCheckpoint' | 'firstTreeHead'>;

const treeHeadsStart = ({ previousCheckpoint }: TreeHeadsOf): number => (previousCheckpoint === null ? 0 : 1);

/** The number of the tree head at this index. */
export const treeHeadAt = (log: TreeHeadsOf, index: number): number =>
  log.firstTreeHead + index - treeHeadsStart(log);

/** Where the tree head is; undefined when it is of an earlier log. */
export const indexOf = (log: TreeHeadsOf, treeHead: number): number | undefined =>
  treeHead < log.firstTreeHead ? undefined : treeHead - log.firstTreeHead + treeHeadsStart(log);

export const entryHash = leafHash;

/** The bytes of a bundle; undefined when one of its entries is gone. */
export async function readBundle(
  { readTreeHeads }: Pick<InstanceLogDeps, 'readTreeHeads'>,
  db: Queryable,
  log: LogRow,
  { index, width }: { index: number; width: number },
): Promise<Uint8Array | undefined> {
  const start = index * fullWidth;
  const isFirst = start < treeHeadsStart(log);
  const before = isFirst && log.previousCheckpoint !== null ? [log.previousCheckpoint] : [];
  const first = treeHeadAt(log, start + before.length);
  const count = width - before.length;
  const rows = count > 0 ? await readTreeHeads(db, first - 1, count) : [];
  if (rows.length < count || rows.some(({ number }, at) => number !== first + at)) return undefined;
  return formatEntryBundle([...before, ...rows.map(({ signed }) => signed)].map((text) => Buffer.from(text)));
}

/** A tile that is fuller than asked for has the same hashes before. */
export async function readTile(
  db: Queryable,
  logNumber: number,
  tile: HashTile,
): Promise<Uint8Array | undefined> {
  const hashes = await readTileHashes(db, logNumber, tile);
  return hashes && hashes.length >= tile.width * hashBytes
    ? hashes.subarray(0, tile.width * hashBytes)
    : undefined;
}

/** For trees that must be complete. */
export const createTileReader =
  (db: Queryable, logNumber: number): ReadTile =>
  async (tile) => {
    const hashes = await readTile(db, logNumber, tile);
    if (!hashes) throw new Error(`the instance log lacks tile ${tile.index} of level ${tile.level}`);
    return hashes;
  };
