/**
 * Which keys count. Trust starts at the keys of the configuration and goes back: each key's first statement says which key
 * came before. Whoever can only write the database cannot add to that line.
 */
import type { PublicKey, ReadStatement } from '../../../../kernel/ports/signer.ts';
import { type KeyStatement, readSigned, statementHash } from '../statements.ts';

export interface KeyRow {
  readonly number: number;
  readonly keyId: string;
  readonly at: string;
  readonly signed: string;
}

export interface Trust {
  readonly keys: readonly PublicKey[];
  readonly problem?: string;
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
    const problem = statement ? rowProblem(row, statement, expected) : 'is signed by no key that is trusted';
    if (!statement || problem)
      return { keys: [...keys.values()], problem: `signing key ${row.number} ${problem}` };
    if (statement.previous) keys.set(statement.previous.key.kid, statement.previous.key);
    expected = { number: row.number - 1, hash: statement.previous?.hash ?? null };
  }
  const trusted = [...keys.values()];
  return expected?.number === 0
    ? { keys: trusted }
    : { keys: trusted, problem: 'the first signing key is missing' };
}

function rowProblem(
  row: KeyRow,
  statement: KeyStatement,
  expected: { number: number; hash: string | null } | undefined,
): string | undefined {
  if (expected && row.number !== expected.number) return 'is not the one that its successor names';
  if (expected && statementHash(row.signed) !== expected.hash)
    return 'is not the one that its successor names';
  const { number, key, at, previous } = statement;
  const agrees = number === row.number && key.kid === row.keyId && at === row.at;
  if (!agrees || (previous === null) !== (number === 1)) return 'does not say what was signed';
  return undefined;
}
