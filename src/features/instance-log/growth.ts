/**
 * Appends the tree heads of the audit log to the instance log, and signs a checkpoint. It signs only a tree that continues its last
 * checkpoint: the tiles must have the root that we signed, and no tree head may be missing.
 */
import { parsePart } from '../../../sdk/typescript/src/audit/compact-jws.ts';
import { statementHash } from '../../../sdk/typescript/src/audit/statements.ts';
import { appendLeaves } from '../../../sdk/typescript/src/transparency/append-leaves.ts';
import { openCheckpoint } from '../../../sdk/typescript/src/transparency/open-checkpoint.ts';
import { rootOf } from '../../../sdk/typescript/src/transparency/prove.ts';
import { createRangeReader } from '../../../sdk/typescript/src/transparency/read-hashes.ts';
import { fullWidth } from '../../../sdk/typescript/src/transparency/tile.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { tryLockGlobal } from '../../kernel/data/locks.ts';
import { type Continuation, describeConflict } from './continuation.ts';
import { createTileReader, entryHash, treeHeadAt } from './entries.ts';
import type { InstanceLogDeps } from './feature.ts';
import { signCheckpoint, signerOf } from './log-key.ts';
import { findOwnLog, type OwnLog } from './own-log.ts';
import { insertLog, type LogRow, updateLog, writeTile } from './store.ts';

/** In one transaction. The first growth of an older instance has many. */
const maxEntries = 16 * fullWidth;

/** The log cannot go on: it would contradict what it has signed. */
export class BrokenLog extends Error {}

export interface Growth {
  /** Appends all tree heads that are there. Nothing while another process does. */
  grow(signal?: AbortSignal): Promise<void>;
}

type TreeHeadText = Awaited<ReturnType<InstanceLogDeps['readTreeHeads']>>[number];

/** Its signature is verified by the watch of the audit log. */
function requireSuccessor(head: TreeHeadText, before: TreeHeadText | undefined): void {
  const { number, previous } = parsePart(head.signed, 1) ?? {};
  if (number !== head.number) throw new BrokenLog(`tree head ${head.number} has the text of another one`);
  if (before && previous !== statementHash(before.signed))
    throw new BrokenLog(`tree head ${head.number} does not follow the one before`);
}

export function createGrowth(
  deps: InstanceLogDeps & {
    readonly continuation: Pick<Continuation, 'beforeSigning'> | undefined;
    /** There is a new checkpoint. */
    onGrown(): void;
  },
): Growth {
  const { db, clock, readTreeHeads, logKey, continuation, onGrown } = deps;
  /** Our last checkpoint: its tiles need no new comparison. */
  let verified: string | undefined;

  const begin = async (tx: Tx, { origin, before }: OwnLog): Promise<LogRow> => {
    const [lowest] = before ? [] : await readTreeHeads(tx, 0, 1);
    const begun: LogRow = {
      logNumber: (before?.logNumber ?? 0) + 1,
      origin,
      verifierKey: signerOf(origin, logKey).verifierKey,
      previousCheckpoint: before?.checkpoint ?? null,
      firstTreeHead: before ? treeHeadAt(before, before.size) : (lowest?.number ?? 1),
      size: 0,
      checkpoint: '',
      updatedAt: isoTime(clock),
      unwitnessedSince: null,
    };
    const leaves = before ? [entryHash(before.checkpoint)] : [];
    const grown = await appendLeaves(createTileReader(tx, begun.logNumber), 0, leaves);
    const row = {
      ...begun,
      size: grown.size,
      checkpoint: await signCheckpoint({ origin, size: grown.size, root: grown.root }, logKey),
    };
    await insertLog(tx, row);
    for (const { tile, bytes } of grown.tiles) await writeTile(tx, row.logNumber, tile, bytes);
    return row;
  };

  const requireIntact = async (tx: Tx, log: LogRow, last: TreeHeadText | undefined): Promise<void> => {
    const { key } = signerOf(log.origin, logKey);
    const { checkpoint } = await openCheckpoint(log.checkpoint, key).catch((error) => {
      throw new BrokenLog(`its checkpoint is not ours: ${error.message}`);
    });
    const readTile = createTileReader(tx, log.logNumber);
    if (checkpoint.size !== log.size || checkpoint.root !== (await rootOf(readTile, log.size)))
      throw new BrokenLog(`its hashes do not have the root of its checkpoint of size ${checkpoint.size}`);
    // Of a log that has just begun, the last entry is no tree head.
    if (!last || last.number < log.firstTreeHead) return;
    const hash = await createRangeReader(readTile, log.size)(log.size - 1, log.size);
    if (hash !== entryHash(last.signed))
      throw new BrokenLog(`tree head ${last.number} is not its last entry`);
  };

  const append = async (tx: Tx, log: LogRow): Promise<{ row: LogRow; isLast: boolean }> => {
    const { last, heads } = await findNew(tx, log);
    if (log.checkpoint !== verified) await requireIntact(tx, log, last);
    if (heads.length === 0) return { row: log, isLast: true };
    const leaves = heads.map(({ signed }) => entryHash(signed));
    const { size, root, tiles } = await appendLeaves(createTileReader(tx, log.logNumber), log.size, leaves);
    for (const { tile, bytes } of tiles) await writeTile(tx, log.logNumber, tile, bytes);
    const checkpoint = await signCheckpoint({ origin: log.origin, size, root }, logKey);
    const row = { ...log, size, checkpoint, updatedAt: isoTime(clock) };
    await updateLog(tx, row);
    return { row, isLast: heads.length < maxEntries };
  };

  /** The tree heads that follow the last entry, each one naming the one before. */
  const findNew = async (
    tx: Tx,
    log: LogRow,
  ): Promise<{ last: TreeHeadText | undefined; heads: readonly TreeHeadText[] }> => {
    const next = treeHeadAt(log, log.size);
    const found = await readTreeHeads(tx, next - 2, maxEntries + 1);
    // Retention may have dropped it.
    const last = found[0]?.number === next - 1 ? found[0] : undefined;
    const heads = last ? found.slice(1) : found;
    let previous = last;
    for (const [at, head] of heads.entries()) {
      if (head.number !== next + at) throw new BrokenLog(`tree head ${next + at} is missing`);
      requireSuccessor(head, previous);
      previous = head;
    }
    // Retention drops the oldest first.
    if (found.length === 0 && (await readTreeHeads(tx, 0, 1)).length > 0)
      throw new BrokenLog(`tree head ${next - 1}, its last entry, is missing`);
    return { last, heads };
  };

  const round = (): Promise<boolean> =>
    db.transaction(async (tx) => {
      if (!(await tryLockGlobal(tx, 'instanceLog'))) return true;
      const own = await findOwnLog(tx, deps);
      const { row, isLast } = await append(tx, own.log ?? (await begin(tx, own)));
      tx.afterCommit(() => {
        verified = row.checkpoint;
        if (row.size !== own.log?.size) onGrown();
      });
      return isLast;
    });

  return {
    async grow(signal) {
      const conflict = await continuation?.beforeSigning();
      if (conflict) throw new BrokenLog(describeConflict(conflict));
      while (!(await round()) && !signal?.aborted);
    },
  };
}
