/**
 * The keys that may have signed the log. Trust starts at the published keys (/.well-known/jwks.json) and goes back: the
 * statement of each key names the key before it. Someone who can only write the database cannot add a key.
 */
import type { KeyStatementEntry, PublicKey } from './evidence.ts';
import { type Finding, finding } from './findings.ts';
import { sha256 } from './hashes.ts';
import type { SignatureReader } from './signatures.ts';

/** `statements` from the newest to the oldest. */
export async function trustedKeys(
  reader: SignatureReader,
  published: readonly PublicKey[],
  statements: readonly KeyStatementEntry[],
): Promise<{ keys: readonly PublicKey[]; finding?: Finding }> {
  const keys = new Map(published.map((key) => [key.kid, key]));
  const untrusted = () => ({ keys: [...keys.values()], finding: finding('KEY_NOT_TRUSTED') });
  let expected: { number: number; hash: unknown } | undefined;
  for (const entry of statements) {
    const claims = await reader.read(entry.signed, 'key', [...keys.values()]);
    if (!claims) return untrusted();
    const { number, key, at } = claims;
    const previous = claims.previous as { hash: unknown; key: PublicKey } | null;
    const isNamed =
      !expected || (entry.number === expected.number && (await sha256(entry.signed)) === expected.hash);
    const matches =
      number === entry.number &&
      at === entry.time &&
      (key as PublicKey | undefined)?.kid === entry.keyId &&
      (previous === null) === (number === 1);
    if (!isNamed || !matches) return untrusted();
    if (previous) keys.set(previous.key.kid, previous.key);
    expected = { number: entry.number - 1, hash: previous?.hash ?? null };
  }
  return expected?.number === 0 ? { keys: [...keys.values()] } : untrusted();
}
