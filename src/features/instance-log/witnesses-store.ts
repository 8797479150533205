/** `instance_log_witnesses`, `instance_log_checkpoints`, and the round of the witnesses in `instance_logs`. */
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { prepared, sql } from '../../kernel/data/sql.ts';

export interface WitnessRow {
  readonly name: string;
  readonly verifierKey: string;
  readonly knownSize: number;
  /** ISO 8601. */
  readonly cosignedAt: string | null;
  readonly failing: string | null;
  readonly conflict: 'larger' | 'other' | null;
  readonly conflictSize: number | null;
}

export const findWitnesses = (db: Queryable, origin: string): Promise<WitnessRow[]> =>
  db.many(
    'instanceLog.witnesses',
    prepared(sql`
      select name, verifier_key as "verifierKey", known_size as "knownSize", cosigned_at as "cosignedAt", failing,
             conflict, conflict_size as "conflictSize"
      from instance_log_witnesses where origin = ${origin}`),
  );

export async function writeWitness(tx: Tx, origin: string, row: WitnessRow, now: string): Promise<void> {
  await tx.run(
    'instanceLog.writeWitness',
    prepared(sql`
      insert into instance_log_witnesses
        (origin, name, verifier_key, known_size, cosigned_at, failing, conflict, conflict_size, updated_at)
      values (${origin}, ${row.name}, ${row.verifierKey}, ${row.knownSize}, ${row.cosignedAt}, ${row.failing},
              ${row.conflict}, ${row.conflictSize}, ${now})
      on conflict (origin, name) do update set
        verifier_key = excluded.verifier_key, known_size = excluded.known_size, cosigned_at = excluded.cosigned_at,
        failing = excluded.failing, conflict = excluded.conflict, conflict_size = excluded.conflict_size,
        updated_at = excluded.updated_at`),
  );
}

export type CheckpointKind = 'served' | 'cosigned' | 'witnessed';

export interface CosignedCheckpoint {
  readonly kind: CheckpointKind;
  readonly size: number;
  readonly note: string;
}

export const findCheckpoints = (db: Queryable, logNumber: number): Promise<CosignedCheckpoint[]> =>
  db.many(
    'instanceLog.checkpoints',
    prepared(sql`select kind, size, note from instance_log_checkpoints where log_number = ${logNumber}`),
  );

export async function writeCheckpoint(
  tx: Tx,
  logNumber: number,
  { kind, size, note }: CosignedCheckpoint,
): Promise<void> {
  await tx.run(
    'instanceLog.writeCheckpoint',
    prepared(sql`
      insert into instance_log_checkpoints (log_number, kind, size, note)
      values (${logNumber}, ${kind}, ${size}, ${note})
      on conflict (log_number, kind) do update set size = excluded.size, note = excluded.note
      where instance_log_checkpoints.size <= excluded.size`),
  );
}

/** False while another process has a round, and until the next one is due. */
export async function claimRound(
  db: Queryable,
  logNumber: number,
  { now, endsBy }: { now: string; endsBy: string },
): Promise<boolean> {
  const claimed = await db.run(
    'instanceLog.claimRound',
    prepared(sql`
      update instance_logs set next_round_at = ${endsBy}
      where log_number = ${logNumber} and (next_round_at is null or next_round_at <= ${now})`),
  );
  return claimed > 0;
}

export async function endRound(
  tx: Tx,
  logNumber: number,
  { nextAt, unwitnessedSince }: { nextAt: string; unwitnessedSince: string | null | undefined },
): Promise<void> {
  await tx.run(
    'instanceLog.endRound',
    prepared(sql`
      update instance_logs set next_round_at = ${nextAt},
        unwitnessed_since = case when ${unwitnessedSince !== undefined} then ${unwitnessedSince ?? null}::timestamptz else unwitnessed_since end
      where log_number = ${logNumber}`),
  );
}
