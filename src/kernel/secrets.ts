/** Client secrets have 256 random bits: a plain SHA-256 is as safe as a slow hash and does not limit throughput. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** Secret scanners search for this prefix. */
export const secretPrefix = 'cs_';

export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** The hash of a hash tells whether a stored hash is still the same, without revealing it to a cache. */
export const hashOf = (hash: Buffer): Buffer => createHash('sha256').update(hash).digest();

/** In constant time. */
export const sameHash = (a: Buffer, b: Buffer): boolean => timingSafeEqual(a, b);
