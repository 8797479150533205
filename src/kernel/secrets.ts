/** Client secrets: 256 random bits, so a plain SHA-256 is as safe as a slow hash and does not cap throughput. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** What secret scanners look for. */
export const secretPrefix = 'cs_';

export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** Stands in where there is nothing to compare with, so that the comparison is made all the same. */
export const nobodysHash = Buffer.alloc(32, 0x5a);

/** In constant time. Nobody can find a secret whose hash is `nobodysHash`; it proves nothing all the same. */
export const sameHash = (a: Buffer, b: Buffer): boolean => timingSafeEqual(a, b);
