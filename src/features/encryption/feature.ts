/**
 * Encryption: the rotation of DATA_ENCRYPTION_KEY over all columns that the vault encrypts. It owns no table: each column comes from
 * the feature that owns it. A text names its key, so the texts themselves are the state of a rotation: after a kill, the next one
 * continues with the rest. docs/guides/rotate-credentials-and-keys.md has the order in which nodes get the keys.
 */

import type { Actor } from '../../kernel/caller.ts';
import type { EncryptedColumn } from '../../kernel/data/encrypted-column.ts';
import { keyIdIn, type Vault } from '../../kernel/data/vault.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import { type ColumnCount, countColumn, createReencrypt } from './reencrypt.ts';
import { createUnreadableRows } from './unreadable-rows.ts';

export interface EncryptionDeps extends Pick<SharedDeps, 'db' | 'ledger' | 'log'> {
  readonly vault: Vault;
  /** Every column that the vault encrypts. */
  readonly columns: readonly EncryptedColumn[];
}

interface CountOptions {
  /** Rows of keys that are not configured are not `left`. */
  readonly skipUnreadable: boolean;
}

export interface RowCount {
  readonly columns: readonly ColumnCount[];
  /** Rows that the current key has not encrypted. Zero: the other keys are not needed. */
  readonly left: number;
}

interface RotationRequest extends CountOptions {
  readonly actor: Actor;
  /** The agent and the organization whose audit log records the rotation. */
  readonly subject: { readonly organizationId: string; readonly agentId: string };
  /** After each batch: rows that are done, and rows that were left at the start without those. */
  onProgress(done: number, left: number): void;
}

/** Rows that no key decrypts. There may be many: only the first ones are named. */
interface UnreadableRows {
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

/** A server that still encrypts with another key adds rows to a part of the column that the pass has left. */
const maxPasses = 3;
/** Rows of each column. A wrong key shows in any of them, and all of them may be millions. */
const checkedAtStart = 20;

export function createEncryption(deps: EncryptionDeps): Encryption {
  const { db, vault, ledger, log, columns } = deps;
  const reencrypt = createReencrypt(deps);
  const count = async (options: CountOptions): Promise<RowCount> => {
    const counts = await Promise.all(columns.map((column) => countColumn(db, vault, column)));
    return { columns: counts, left: leftIn(counts, options) };
  };
  return {
    keyId: vault.keyId,
    count,
    async reportMissingKeys() {
      for (const column of columns) {
        const texts = await column.read(db, { atMost: checkedAtStart });
        const keyId = texts
          .map(({ text }) => keyIdIn(text))
          .find((id) => id !== undefined && !vault.knows(id));
        if (keyId === undefined) continue;
        log.error(
          { column: column.name, missingKeyId: keyId },
          'stored secrets cannot be decrypted: their key is neither DATA_ENCRYPTION_KEY nor one of DATA_ENCRYPTION_PREVIOUS_KEYS. Add it, or run `countersign doctor` for the rows',
        );
      }
    },
    async rotate({ actor, subject, onProgress, skipUnreadable }) {
      const record = (
        type: 'encryption_key.rotation_started' | 'encryption_key.rotation_ended',
        outcome: 'success' | 'failure',
        metadata: Record<string, unknown>,
      ) =>
        db.transaction((tx) =>
          ledger.record(tx, actor, type, {
            ...subject,
            outcome,
            metadata: { keyId: vault.keyId, skipUnreadable, ...metadata },
          }),
        );
      const { left: planned } = await count({ skipUnreadable });
      await record('encryption_key.rotation_started', 'success', { rows: planned });
      let reencrypted = 0;
      let unreadable = createUnreadableRows();
      for (let pass = 1; pass <= maxPasses; pass += 1) {
        let replaced = 0;
        unreadable = createUnreadableRows();
        for (const column of columns)
          await reencrypt(column, {
            unreadable,
            onReplaced(rows) {
              replaced += rows;
              onProgress(reencrypted + replaced, Math.max(0, planned - reencrypted - replaced));
            },
          });
        reencrypted += replaced;
        if (replaced === 0) break;
      }
      const after = await count({ skipUnreadable });
      await record('encryption_key.rotation_ended', after.left === 0 ? 'success' : 'failure', {
        rows: reencrypted,
        left: after.left,
        unreadable: sum(after.columns, ({ unknown }) => unknown),
      });
      return { reencrypted, ...unreadable.found(), ...after };
    },
  };
}

const leftIn = (counts: readonly ColumnCount[], { skipUnreadable }: CountOptions): number =>
  sum(counts, ({ other, plain, unknown }) => other + plain + (skipUnreadable ? 0 : unknown));

const sum = (counts: readonly ColumnCount[], rowsOf: (count: ColumnCount) => number): number =>
  counts.reduce((total, count) => total + rowsOf(count), 0);
