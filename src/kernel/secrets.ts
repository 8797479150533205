/** Client secrets: 256 random bits, so a plain SHA-256 is as safe as a slow hash and does not cap throughput. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** What secret scanners look for. */
export const secretPrefix = 'cs_';

export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest();

const nobodysHash = Buffer.alloc(32, 0x5a);

/** Whether the secret is one of these, in the same time for any number of candidates up to `compared`, none included. */
export function matchesSecret(secret: string, hashes: readonly Buffer[], compared = 4): number | undefined {
  const given = hashSecret(secret);
  let found: number | undefined;
  for (let index = 0; index < Math.max(compared, hashes.length); index += 1) {
    const equal = timingSafeEqual(given, hashes[index] ?? nobodysHash);
    if (equal && index < hashes.length) found = index;
  }
  return found;
}
