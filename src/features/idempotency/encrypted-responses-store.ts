/** The stored responses for the rotation of the encryption key. */
import type { EncryptedColumn, EncryptedText } from '../../kernel/data/encrypted-column.ts';
import { sql } from '../../kernel/data/sql.ts';
import { keyIdOf } from '../../kernel/data/vault.ts';
import { ownerOf } from './owner.ts';

interface ResponseRow {
  readonly caller: string;
  readonly keyHash: Buffer;
  readonly text: string;
}

const textOf = ({ caller, keyHash, text }: ResponseRow): EncryptedText => ({
  id: `${keyHash.toString('hex')}:${caller}`,
  owner: ownerOf({ caller, keyHash }),
  text,
});

/** The reverse of `textOf`. */
const keyOf = (id: string) => ({
  keyHash: Buffer.from(id.slice(0, id.indexOf(':')), 'hex'),
  caller: id.slice(id.indexOf(':') + 1),
});

export const encryptedResponses: EncryptedColumn = {
  name: 'idempotency_keys.response',
  async newestByKey(db) {
    const found = await db.many<ResponseRow & { keyId: string | null; rows: number }>(
      'idempotency.newestByKey',
      sql`with keys as (
            select ${keyIdOf(sql`response`)} as id, count(*) as rows
            from idempotency_keys where response is not null group by 1
          )
          select keys.id as "keyId", keys.rows, newest.caller, newest.key_hash as "keyHash", newest.response as text
          from keys cross join lateral (
            select caller, key_hash, response from idempotency_keys
            where response is not null and ${keyIdOf(sql`response`)} is not distinct from keys.id
            order by created_at desc limit 1
          ) newest
          order by keys.id`,
    );
    return found.map(({ keyId, rows, ...newest }) => ({ keyId, rows, newest: textOf(newest) }));
  },
  async read(db, { unlessEncryptedWith: prefix = null, after, atMost }) {
    const from = after === undefined ? undefined : keyOf(after);
    const rows = await db.many<ResponseRow>(
      'idempotency.readEncrypted',
      sql`select caller, key_hash as "keyHash", response as text from idempotency_keys
          where response is not null and (${prefix}::text is null or not starts_with(response, ${prefix}))
            and (${from?.caller ?? null}::text is null
                 or (caller, key_hash) > (${from?.caller ?? null}::text, ${from?.keyHash ?? null}::bytea))
          order by caller, key_hash limit ${atMost}`,
    );
    return rows.map(textOf);
  },
  replace(db, replacements) {
    const keys = replacements.map(({ id }) => keyOf(id));
    return db.run(
      'idempotency.replaceEncrypted',
      sql`with wanted as (
            select * from unnest(${keys.map(({ caller }) => caller)}::text[], ${keys.map(({ keyHash }) => keyHash)}::bytea[],
                                 ${replacements.map(({ text }) => text)}::text[],
                                 ${replacements.map(({ replacement }) => replacement)}::text[])
              as w (caller, key_hash, text, replacement)
          ), locked as (
            select k.caller, k.key_hash from idempotency_keys k join wanted w using (caller, key_hash)
            order by 1, 2 for no key update of k
          )
          update idempotency_keys k set response = wanted.replacement
          from locked join wanted using (caller, key_hash)
          where k.caller = locked.caller and k.key_hash = locked.key_hash and k.response = wanted.text`,
    );
  },
};
