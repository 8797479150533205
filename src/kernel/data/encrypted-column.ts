/**
 * A column of texts that the vault encrypts, for the rotation of the encryption key. The feature that owns the table provides it.
 * `updated_at` stays: readers see no change.
 */
import type { Queryable } from './db.ts';
import { raw, sql } from './sql.ts';
import { keyIdOf } from './vault.ts';

export interface EncryptedText {
  /** The row, and the place to continue after it. Only the column that gave it understands it. */
  readonly id: string;
  /** As the vault binds it. */
  readonly owner: string;
  /** As it is stored. */
  readonly text: string;
}

export interface Replacement extends EncryptedText {
  readonly replacement: string;
}

export interface RowsOfKey {
  /** Null: plain text. */
  readonly keyId: string | null;
  readonly rows: number;
  readonly newest: EncryptedText;
}

interface TextRange {
  /** Leaves out the texts that begin with this prefix. */
  readonly unlessEncryptedWith?: string;
  /** Begins after the row with this id. */
  readonly after?: string | undefined;
  readonly atMost: number;
}

export interface EncryptedColumn {
  /** `table.column` */
  readonly name: string;
  newestByKey(db: Queryable): Promise<RowsOfKey[]>;
  /** Texts in the order of the rows' ids. */
  read(db: Queryable, range: TextRange): Promise<EncryptedText[]>;
  /** Compare-and-swap: a row whose text has changed since it was read stays as it is. Returns how many were replaced. */
  replace(db: Queryable, replacements: readonly Replacement[]): Promise<number>;
}

const list = (replacements: readonly Replacement[], field: 'id' | 'text' | 'replacement') =>
  replacements.map((each) => each[field]);

/** A column of a table with a UUID as its key, to which the vault binds the text, and `created_at`. The names are constants of the code. */
export function columnByUuid(
  query: string,
  names: Record<'table' | 'key' | 'column', string>,
): EncryptedColumn {
  const [table, key, column] = [raw(names.table), raw(names.key), raw(names.column)];
  return {
    name: `${names.table}.${names.column}`,
    newestByKey: (db) =>
      db.many(
        `${query}.newestByKey`,
        sql`with keys as (
              select ${keyIdOf(column)} as id, count(*) as rows from ${table} where ${column} is not null group by 1
            )
            select keys.id as "keyId", keys.rows,
                   json_build_object('id', newest.id, 'owner', newest.id, 'text', newest.text) as newest
            from keys cross join lateral (
              select ${key}::text as id, ${column} as text from ${table}
              where ${column} is not null and ${keyIdOf(column)} is not distinct from keys.id
              order by created_at desc, ${key} desc limit 1
            ) newest
            order by keys.id`,
      ),
    read: (db, { unlessEncryptedWith: prefix = null, after, atMost }) =>
      db.many(
        `${query}.readEncrypted`,
        sql`select ${key}::text as id, ${key}::text as owner, ${column} as text from ${table}
            where ${column} is not null and (${prefix}::text is null or not starts_with(${column}, ${prefix}))
              and (${after ?? null}::uuid is null or ${key} > ${after ?? null}::uuid)
            order by ${key} limit ${atMost}`,
      ),
    // Locks by the order of the keys, as the workers do (webhooks/delivery/result-store.ts), so that they do not deadlock.
    replace: (db, replacements) =>
      db.run(
        `${query}.replaceEncrypted`,
        sql`with wanted as (
              select * from unnest(${list(replacements, 'id')}::uuid[], ${list(replacements, 'text')}::text[],
                                   ${list(replacements, 'replacement')}::text[]) as w (id, text, replacement)
            ), locked as (
              select ${key} as id from ${table} where ${key} in (select id from wanted)
              order by 1 for no key update
            )
            update ${table} s set ${column} = wanted.replacement
            from locked join wanted on wanted.id = locked.id
            where s.${key} = locked.id and s.${column} = wanted.text`,
      ),
  };
}
