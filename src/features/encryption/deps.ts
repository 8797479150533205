import type { Actor } from '../../kernel/caller.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { EncryptedColumn } from '../../kernel/data/encrypted-column.ts';
import type { Vault } from '../../kernel/data/vault.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Log } from '../../kernel/observability/log.ts';

export interface EncryptionDeps {
  readonly db: Db;
  readonly vault: Vault;
  readonly ledger: Ledger;
  readonly log: Log;
  /** Every column that the vault encrypts. */
  readonly columns: readonly EncryptedColumn[];
}

/** The rows of a column by the key that encrypted them. */
export interface ColumnCount {
  readonly name: string;
  /** Encrypted with the current key. */
  readonly current: number;
  /** Encrypted with another key that is configured. */
  readonly other: number;
  readonly plain: number;
  /** Encrypted with a key that is not configured. */
  readonly unknown: number;
  readonly unknownKeyIds: readonly string[];
}

export interface CountOptions {
  /** Rows of keys that are not configured are not `left`. */
  readonly skipUnreadable: boolean;
}

export interface RowCount {
  readonly columns: readonly ColumnCount[];
  /** Rows that the current key has not encrypted. Zero: the other keys are not needed. */
  readonly left: number;
}

export interface RotationRequest extends CountOptions {
  readonly actor: Actor;
  /** The agent and the organization whose audit log records the rotation. */
  readonly subject: { readonly organizationId: string; readonly agentId: string };
  /** After each batch: rows that are done, and rows that were left at the start without those. */
  onProgress(done: number, left: number): void;
}

/** Rows that no key decrypts. There may be many: only the first ones are named. */
export interface UnreadableRows {
  readonly rows: number;
  /** As `table.column id`, in the order of the columns. */
  readonly first: readonly string[];
}

/** With the rows as they are afterwards. */
export interface RotationResult extends RowCount {
  readonly reencrypted: number;
  /** Their key is configured: the text was changed since it was encrypted. They are among those `left`. */
  readonly damaged: UnreadableRows;
  /** Their key is not configured. */
  readonly unknown: UnreadableRows;
}

export interface Encryption {
  readonly keyId: string | undefined;
  count(options: CountOptions): Promise<RowCount>;
  /** At the start of a server: reads some rows, and logs an error if a key is missing. The server runs without it. */
  reportMissingKeys(): Promise<void>;
  /**
   * Encrypts with the current key all texts of other keys and all plain texts, except those that no key decrypts. Several may run at
   * once. The audit log records a success when no row is left.
   */
  rotate(request: RotationRequest): Promise<RotationResult>;
}
