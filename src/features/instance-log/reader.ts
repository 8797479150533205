/** What others read of the log: the newest checkpoint, and tiles of trees that a checkpoint has. */
import { hasTile } from '../../../sdk/typescript/src/transparency/tile.ts';
import { parseTilePath } from '../../../sdk/typescript/src/transparency/tile-path.ts';
import { fail } from '../../kernel/fail.ts';
import { readBundle, readTile } from './entries.ts';
import type { InstanceLogDeps } from './feature.ts';
import { findNewestLog, type LogRow } from './store.ts';
import { findCheckpoints } from './witnesses-store.ts';

export interface LogReader {
  /** LOG_NOT_FOUND before the first round of the log. */
  current(): Promise<LogRow>;
  /** The newest checkpoint; with witnesses the newest that was sent to them, with the cosignatures that came. */
  checkpoint(): Promise<string>;
  /** The bytes of a path; undefined when the log has no such tile, or its entries are past retention. */
  tile(path: string): Promise<Uint8Array | undefined>;
}

export function createLogReader(
  deps: Pick<InstanceLogDeps, 'db' | 'readTreeHeads'> & { readonly hasWitnesses: boolean },
): LogReader {
  const { db, hasWitnesses } = deps;
  const current = async () => (await findNewestLog(db)) ?? fail('LOG_NOT_FOUND');
  return {
    current,
    async checkpoint() {
      const { logNumber, checkpoint } = await current();
      const stored = hasWitnesses ? await findCheckpoints(db, logNumber) : [];
      // Before the first round of the witnesses there is none.
      return stored.find(({ kind }) => kind === 'served')?.note ?? checkpoint;
    },
    async tile(path) {
      const log = await current();
      const tile = parseTilePath(path);
      if (!tile) return undefined;
      // A tile that was partial at an earlier size may still be asked for.
      const { level, index, width } = tile;
      if (level !== 'entries') return readTile(db, log.logNumber, tile);
      const isThere = hasTile(Math.min(log.size, index * 256 + width), tile);
      return isThere ? readBundle(deps, db, log, { index, width }) : undefined;
    },
  };
}
