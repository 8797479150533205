/** Client secrets: 256 random bits, so a plain SHA-256 is as safe as a slow hash and does not cap throughput. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** What secret scanners look for. */
export const secretPrefix = 'cs_';

export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** In constant time. */
export const sameHash = (a: Buffer, b: Buffer): boolean => timingSafeEqual(a, b);
