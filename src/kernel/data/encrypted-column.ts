/** A column of texts that the vault encrypts, for the rotation of the encryption key. The feature that owns the table provides it. */
import type { Queryable } from './db.ts';

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
