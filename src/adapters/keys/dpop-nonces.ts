/**
 * Nonces for proofs of possession: the time in seconds and its MAC, in base64url. No node stores them. The key of the MAC is derived
 * from the private key. A node with another private key, or this one after a rotation, finds such a nonce unknown: the client then gets a
 * new one and repeats its request.
 */
import { createHmac, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import type { Clock } from '../../kernel/clock.ts';
import { secretOf } from './seals.ts';

export type NonceProblem = 'missing' | 'old' | 'unknown' | 'malformed';

const timeBytes = 6;
const macBytes = 15;
const textLength = ((timeBytes + macBytes) / 3) * 4;
/** All answers within this time have the same nonce. */
const stepSeconds = 10;
/** The clock of the node that made it may be ahead. */
const skewSeconds = 60;

export function createNonces({ clock, privateKey }: { clock: Clock; privateKey: KeyObject }) {
  const key = Buffer.from(hkdfSync('sha256', secretOf(privateKey), '', 'countersign dpop nonce', 32));
  const nonceOf = (seconds: number): Buffer => {
    const time = Buffer.alloc(timeBytes);
    time.writeUIntBE(seconds, 0, timeBytes);
    return Buffer.concat([time, createHmac('sha256', key).update(time).digest().subarray(0, macBytes)]);
  };
  let latest = { seconds: Number.NaN, text: '' };

  const current = (): string => {
    const now = Math.floor(clock.now() / 1_000);
    const seconds = now - (now % stepSeconds);
    if (seconds !== latest.seconds) latest = { seconds, text: nonceOf(seconds).toString('base64url') };
    return latest.text;
  };

  return {
    current,

    /** Undefined for a current nonce of ours. */
    problemOf(nonce: unknown): NonceProblem | undefined {
      if (nonce === current()) return undefined;
      if (typeof nonce !== 'string' || nonce.length !== textLength || !/^[\w-]+$/.test(nonce))
        return 'malformed';
      const bytes = Buffer.from(nonce, 'base64url');
      const seconds = bytes.readUIntBE(0, timeBytes);
      if (!timingSafeEqual(bytes, nonceOf(seconds))) return 'unknown';
      const age = clock.now() / 1_000 - seconds;
      if (age < -skewSeconds) return 'unknown';
      return age > limits.proofNonceSeconds ? 'old' : undefined;
    },
  };
}
