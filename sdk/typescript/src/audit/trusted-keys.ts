/**
 * The trusted signing keys. Trust starts at the configured keys and goes back: the statement of each key names the key
 * before it. An attacker who can only write the database cannot add a key.
 */
import { type Finding, type FindingCode, finding } from './findings.ts';
import {
  type KeyStatement,
  type PublicKey,
  type ReadStatement,
  readSigned,
  statementHash,
} from './statements.ts';

export interface KeyRow {
  readonly number: number;
  readonly keyId: string;
  readonly at: string;
  readonly signed: string;
}

/** A key for each day of 27 years. */
const maxKeys = 10_000;
/** Twice what so many keys of RSA-4096 have: the rows are in memory before any of them is proven. */
const maxCharacters = 64 * 1024 * 1024;

export interface KeyRows {
  readonly rows: readonly KeyRow[];
  /** False when there are too many. */
  add(row: KeyRow): boolean;
}

/** The rows of a file, which may be anybody's. */
export function createKeyRows(): KeyRows {
  const rows: KeyRow[] = [];
  let characters = 0;
  return {
    rows,
    add(row) {
      characters += row.keyId.length + row.at.length + row.signed.length;
      if (rows.length === maxKeys || characters > maxCharacters) return false;
      rows.push(row);
      return true;
    },
  };
}

export interface Trust<Code extends string = FindingCode> {
  readonly keys: readonly PublicKey[];
  readonly finding?: Finding<Code>;
}

/** `rows` from the newest to the oldest; `roots` are the configured public keys. */
export async function trustFrom(
  read: ReadStatement,
  roots: readonly PublicKey[],
  rows: readonly KeyRow[],
): Promise<Trust> {
  const keys = new Map(roots.map((key) => [key.kid, key]));
  let expected: { number: number; hash: string | null } | undefined;
  for (const row of rows) {
    const statement = await readSigned(read, 'key', row.signed, [...keys.values()]);
    const code = statement ? rowFault(row, statement, expected) : 'KEY_NOT_TRUSTED';
    if (!statement || code)
      return {
        keys: [...keys.values()],
        finding: finding(code ?? 'KEY_NOT_TRUSTED', { number: row.number }),
      };
    if (statement.previous) keys.set(statement.previous.key.kid, statement.previous.key);
    expected = { number: row.number - 1, hash: statement.previous?.hash ?? null };
  }
  const trusted = [...keys.values()];
  return expected?.number === 0
    ? { keys: trusted }
    : { keys: trusted, finding: finding('FIRST_KEY_MISSING') };
}

function rowFault(
  row: KeyRow,
  statement: KeyStatement,
  expected: { number: number; hash: string | null } | undefined,
): Extract<FindingCode, 'KEY_NOT_NAMED' | 'KEY_ROW_DIFFERS'> | undefined {
  const isNamed =
    !expected || (row.number === expected.number && statementHash(row.signed) === expected.hash);
  if (!isNamed) return 'KEY_NOT_NAMED';
  const { number, key, at, previous } = statement;
  const matches = number === row.number && key.kid === row.keyId && at === row.at;
  return matches && (previous === null) === (number === 1) ? undefined : 'KEY_ROW_DIFFERS';
}
