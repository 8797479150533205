/** `instance_logs` and `instance_log_tiles`. */
import type { HashTile } from '../../../sdk/typescript/src/transparency/tile.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { prepared, sql } from '../../kernel/data/sql.ts';

export interface LogRow {
  readonly logNumber: number;
  readonly origin: string;
  readonly verifierKey: string;
  readonly previousCheckpoint: string | null;
  readonly firstTreeHead: number;
  readonly size: number;
  readonly checkpoint: string;
  /** When the checkpoint was signed; ISO 8601. */
  readonly updatedAt: string;
  /** Since when a checkpoint has waited for a quorum of the witnesses; null when none does. */
  readonly unwitnessedSince: string | null;
}

const columns = sql`
  log_number as "logNumber", origin, verifier_key as "verifierKey", previous_checkpoint as "previousCheckpoint",
  first_tree_head as "firstTreeHead", size, checkpoint, updated_at as "updatedAt", unwitnessed_since as "unwitnessedSince"`;

export const findNewestLog = (db: Queryable): Promise<LogRow | undefined> =>
  db.maybe(
    'instanceLog.newest',
    prepared(sql`select ${columns} from instance_logs order by log_number desc limit 1`),
  );

export const findLog = (db: Queryable, logNumber: number): Promise<LogRow | undefined> =>
  db.maybe(
    'instanceLog.find',
    prepared(sql`select ${columns} from instance_logs where log_number = ${logNumber}`),
  );

export const findLogOfOrigin = (db: Queryable, origin: string): Promise<LogRow | undefined> =>
  db.maybe(
    'instanceLog.findByOrigin',
    prepared(sql`select ${columns} from instance_logs where origin = ${origin}`),
  );

export const hasOrigin = async (db: Queryable, origin: string): Promise<boolean> =>
  (
    await db.one<{ found: boolean }>(
      'instanceLog.hasOrigin',
      sql`select exists (select from instance_logs where origin = ${origin}) as found`,
    )
  ).found;

export async function insertLog(tx: Tx, row: LogRow): Promise<void> {
  await tx.run(
    'instanceLog.insert',
    sql`insert into instance_logs
          (log_number, origin, verifier_key, previous_checkpoint, first_tree_head, size, checkpoint, updated_at, unwitnessed_since)
        values (${row.logNumber}, ${row.origin}, ${row.verifierKey}, ${row.previousCheckpoint}, ${row.firstTreeHead},
                ${row.size}, ${row.checkpoint}, ${row.updatedAt}, ${row.updatedAt})`,
  );
}

export async function updateLog(
  tx: Tx,
  { logNumber, size, checkpoint, updatedAt }: Pick<LogRow, 'logNumber' | 'size' | 'checkpoint' | 'updatedAt'>,
): Promise<void> {
  await tx.run(
    'instanceLog.update',
    prepared(sql`
      update instance_logs set size = ${size}, checkpoint = ${checkpoint}, updated_at = ${updatedAt},
        unwitnessed_since = coalesce(unwitnessed_since, ${updatedAt}::timestamptz)
      where log_number = ${logNumber}`),
  );
}

/** The hashes of the tile, as far as it is filled. */
export async function readTileHashes(
  db: Queryable,
  logNumber: number,
  { level, index }: Pick<HashTile, 'level' | 'index'>,
): Promise<Buffer | undefined> {
  const row = await db.maybe<{ hashes: Buffer }>(
    'instanceLog.readTile',
    prepared(sql`
      select hashes from instance_log_tiles
      where log_number = ${logNumber} and level = ${level} and tile_index = ${index}`),
  );
  return row?.hashes;
}

export async function writeTile(
  tx: Tx,
  logNumber: number,
  { level, index }: Pick<HashTile, 'level' | 'index'>,
  hashes: Uint8Array,
): Promise<void> {
  await tx.run(
    'instanceLog.writeTile',
    prepared(sql`
      insert into instance_log_tiles (log_number, level, tile_index, hashes)
      values (${logNumber}, ${level}, ${index}, ${Buffer.from(hashes)})
      on conflict (log_number, level, tile_index) do update set hashes = excluded.hashes`),
  );
}
