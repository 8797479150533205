/**
 * A refresh token that was used has its successor beside it, readable only with the used token itself. So a client whose answer was lost
 * gets the same successor again, and two holders of one refresh token never have two: the later use of the second one is found.
 */
import { createHmac } from 'node:crypto';

/** Secret scanners search for this prefix. */
export const refreshPrefix = 'csr_';

/** A one-time pad: the used token has 256 random bits, and hides one value ever. */
const pad = (usedToken: string): Buffer => createHmac('sha256', usedToken).update('successor').digest();

const xor = (a: Buffer, b: Buffer): Buffer => Buffer.from(a.map((byte, index) => byte ^ (b[index] ?? 0)));

export const hideSuccessor = (successor: string, usedToken: string): Buffer =>
  xor(Buffer.from(successor.slice(refreshPrefix.length), 'base64url'), pad(usedToken));

export const revealSuccessor = (hidden: Buffer, usedToken: string): string =>
  refreshPrefix + xor(hidden, pad(usedToken)).toString('base64url');
