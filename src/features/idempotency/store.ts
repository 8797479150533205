import type { IdempotencyKey } from '../../kernel/caller.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';

type KeyOfCaller = Pick<IdempotencyKey, 'caller' | 'keyHash'>;

export const findKey = (
  db: Queryable,
  { caller, keyHash }: KeyOfCaller,
  oldest: Date,
): Promise<
  { requestHash: Buffer; createdId: string; createdAt: string; response: string | null } | undefined
> =>
  db.maybe(
    'idempotency.find',
    sql`select request_hash as "requestHash", created_id as "createdId", created_at as "createdAt", response
        from idempotency_keys where caller = ${caller} and key_hash = ${keyHash} and created_at >= ${oldest}`,
  );

/**
 * Replaces an expired row. False when the key is in use. A concurrent request with the same key waits here until the first has
 * committed or rolled back.
 */
export async function insertKey(
  tx: Queryable,
  key: IdempotencyKey & { readonly createdId: string; readonly createdAt: Date },
  oldest: Date,
): Promise<boolean> {
  const { caller, keyHash, requestHash, createdId, createdAt } = key;
  const written = await tx.run(
    'idempotency.insert',
    sql`insert into idempotency_keys (caller, key_hash, request_hash, created_id, created_at)
        values (${caller}, ${keyHash}, ${requestHash}, ${createdId}, ${createdAt})
        on conflict (caller, key_hash) do update
        set request_hash = excluded.request_hash, created_id = excluded.created_id, response = null,
          created_at = excluded.created_at
        where idempotency_keys.created_at < ${oldest}`,
  );
  return written === 1;
}

export async function updateResponse(
  db: Queryable,
  { caller, keyHash, requestHash }: KeyOfCaller & Pick<IdempotencyKey, 'requestHash'>,
  response: string,
): Promise<void> {
  await db.run(
    'idempotency.updateResponse',
    sql`update idempotency_keys set response = ${response}
        where caller = ${caller} and key_hash = ${keyHash} and request_hash = ${requestHash}`,
  );
}

/** Returns how many were deleted. */
export const deleteKeys = (db: Queryable, before: Date, atMost: number): Promise<number> =>
  db.run(
    'idempotency.deleteExpired',
    sql`delete from idempotency_keys where ctid = any (array(
          select ctid from idempotency_keys where created_at < ${before} limit ${atMost} for update skip locked))`,
  );
