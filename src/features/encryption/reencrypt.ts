/** One pass over a column, in small batches that commit by themselves. */

import type { Queryable } from '../../kernel/data/db.ts';
import type { EncryptedColumn, EncryptedText, Replacement } from '../../kernel/data/encrypted-column.ts';
import { keyIdIn, type Vault, VaultProblem } from '../../kernel/data/vault.ts';
import type { EncryptionDeps } from './feature.ts';
import type { createUnreadableRows } from './unreadable-rows.ts';

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

/** Requests that change one of these rows wait for the batch. */
const batchSize = 200;

interface Pass {
  /** Gets the rows that no key decrypts. */
  readonly unreadable: Pick<ReturnType<typeof createUnreadableRows>, 'add'>;
  onReplaced(rows: number): void;
}

export const createReencrypt =
  ({ db, vault }: Pick<EncryptionDeps, 'db' | 'vault'>) =>
  async (column: EncryptedColumn, { unreadable, onReplaced }: Pass): Promise<void> => {
    let after: string | undefined;
    for (;;) {
      const range = { unlessEncryptedWith: vault.currentPrefix, after, atMost: batchSize };
      const texts = await column.read(db, range);
      const replacements = texts.flatMap((each) => {
        const replacement = encryptAgain(vault, each);
        if (replacement !== undefined) return [{ ...each, replacement }];
        const isDamaged = vault.knows(keyIdIn(each.text) ?? '');
        unreadable.add(isDamaged ? 'damaged' : 'unknown', `${column.name} ${each.id}`);
        return [];
      });
      if (replacements.length > 0) onReplaced(await replaceChecked(db, vault, column, replacements));
      after = texts.at(-1)?.id;
      if (texts.length < batchSize) return;
    }
  };

/** Undefined when no key decrypts it. */
function encryptAgain(vault: Vault, { text, owner }: EncryptedText): string | undefined {
  try {
    return vault.seal(vault.open(text, owner), owner);
  } catch (error) {
    if (error instanceof VaultProblem) return undefined;
    throw error;
  }
}

/** The old text is gone after the commit, so the new one must decrypt to the same first. */
function replaceChecked(
  db: Queryable,
  vault: Vault,
  column: EncryptedColumn,
  replacements: readonly Replacement[],
): Promise<number> {
  for (const { text, replacement, owner, id } of replacements)
    if (vault.open(replacement, owner) !== vault.open(text, owner))
      throw new Error(`${column.name} ${id}: the new text does not decrypt to the same as the old one`);
  return column.replace(db, replacements);
}

export async function countColumn(
  db: Queryable,
  vault: Vault,
  column: EncryptedColumn,
): Promise<ColumnCount> {
  const rows = await column.newestByKey(db);
  const sum = (matches: (keyId: string | null) => boolean) =>
    rows.filter(({ keyId }) => matches(keyId)).reduce((total, row) => total + row.rows, 0);
  const isUnknown = (keyId: string | null) => keyId !== null && !vault.knows(keyId);
  return {
    name: column.name,
    current: sum((keyId) => keyId !== null && keyId === vault.keyId),
    other: sum((keyId) => keyId !== null && keyId !== vault.keyId && vault.knows(keyId)),
    plain: sum((keyId) => keyId === null),
    unknown: sum(isUnknown),
    unknownKeyIds: rows.flatMap(({ keyId }) => (keyId !== null && isUnknown(keyId) ? [keyId] : [])),
  };
}
