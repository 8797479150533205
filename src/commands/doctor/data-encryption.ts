/** Whether the encryption keys of this environment decrypt the stored texts, and which texts still need another key. */
import { encryptedColumns } from '../../app.ts';
import { loadVariable } from '../../kernel/config/config.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { EncryptedText, RowsOfKey } from '../../kernel/data/encrypted-column.ts';
import { createVault, type Vault, VaultProblem } from '../../kernel/data/vault.ts';
import { type CheckContext, type Finding, ok, problem, warning } from './check.ts';
import { columnExists } from './database-store.ts';

interface Group extends RowsOfKey {
  /** `table.column` */
  readonly column: string;
}

export async function encryptionFinding(db: Db, { env }: CheckContext): Promise<Finding[]> {
  const name = 'data encryption';
  const vault = createVault(
    loadVariable('dataEncryptionKey', env),
    loadVariable('dataEncryptionPreviousKeys', env),
  );
  const groups = await readGroups(db);
  const unreadable = groups.filter(({ newest }) => !decrypts(vault, newest)).map(withUnreadableRows(vault));
  if (unreadable.length > 0)
    return [
      problem(
        name,
        `${rowsIn(unreadable)} encrypted rows cannot be decrypted; the newest of each key: ${unreadable
          .map(({ column, keyId, rows, newest }) => `${column} ${newest.id} (key ${keyId}, rows: ${rows})`)
          .join('; ')}`,
        'add the key that encrypted them to DATA_ENCRYPTION_PREVIOUS_KEYS. If it is lost, rotate the secrets of the webhooks and connections; stored responses end after a day',
      ),
    ];
  if (!vault.encrypts)
    return [
      warning(
        name,
        'DATA_ENCRYPTION_KEY is not set: signing secrets of webhooks and client secrets of connections are stored unencrypted',
        'set it on all nodes: openssl rand -base64 32',
      ),
    ];
  const left = rowsIn(groups.filter(({ keyId }) => keyId !== vault.keyId));
  if (left > 0)
    return [
      warning(
        name,
        `${left} of ${rowsIn(groups)} rows are not encrypted with DATA_ENCRYPTION_KEY, but with an earlier key or not at all`,
        'when all nodes have the new key, run `countersign rotate-encryption-key`',
      ),
    ];
  return [
    ok(
      name,
      groups.length === 0
        ? 'DATA_ENCRYPTION_KEY is set; no secret is stored with it yet'
        : `DATA_ENCRYPTION_KEY encrypts all ${rowsIn(groups)} rows, and decrypts the newest`,
    ),
  ];
}

/** Migrations may be missing: a column that does not exist has no rows. */
async function readGroups(db: Db): Promise<Group[]> {
  const groups: Group[] = [];
  for (const column of encryptedColumns)
    if (await columnExists(db, column.name))
      groups.push(...(await column.newestByKey(db)).map((rows) => ({ ...rows, column: column.name })));
  return groups;
}

/** A text of a configured key that does not decrypt was changed; the other rows of this key are not decrypted here. */
const withUnreadableRows =
  (vault: Vault) =>
  (group: Group): Group =>
    vault.knows(group.keyId ?? '') ? { ...group, rows: 1 } : group;

const rowsIn = (groups: readonly Group[]): number => groups.reduce((sum, { rows }) => sum + rows, 0);

function decrypts(vault: Vault, { text, owner }: EncryptedText): boolean {
  try {
    vault.open(text, owner);
    return true;
  } catch (error) {
    if (error instanceof VaultProblem) return false;
    throw error;
  }
}
