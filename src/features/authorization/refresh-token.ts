/**
 * Refresh tokens: new ones, the key that they are bound to, and successors. A used one has its successor beside it, readable only with the
 * used token itself. So a client whose answer was lost gets the same successor again, and two holders of one refresh token never have two:
 * the later use of the second one is found.
 */
import { createHmac } from 'node:crypto';
import type { Tx } from '../../kernel/data/db.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import type { AuthorizationDeps } from './feature.ts';
import { type Granted, insertRefreshToken } from './grants-store.ts';

/** Secret scanners search for this prefix. */
export const refreshPrefix = 'csr_';

/** A refresh token for what was granted; `insert` stores it when the access token beside it is issued. */
export type NewRefreshToken = (granted: Granted) => {
  readonly refreshToken: string;
  insert(tx: Tx): Promise<void>;
};

export const createNewRefreshToken =
  ({ clock, ids }: Pick<AuthorizationDeps, 'clock' | 'ids'>): NewRefreshToken =>
  (granted) => {
    const refreshToken = ids.secret(refreshPrefix);
    return {
      refreshToken,
      insert: (tx) => insertRefreshToken(tx, hashSecret(refreshToken), granted, new Date(clock.now())),
    };
  };

/**
 * RFC 9449 §5: a refresh token of a public client is bound to the key of the token beside it, and its successors too. Other clients
 * authenticate each time.
 */
export const refreshKeyOf = (
  { publicClient }: { readonly publicClient: boolean },
  earlier: string | null,
  keyThumbprint: string | undefined,
): string | null => earlier ?? (publicClient && keyThumbprint !== undefined ? keyThumbprint : null);

/** A one-time pad: the used token has 256 random bits, and hides one value ever. */
const pad = (usedToken: string): Buffer => createHmac('sha256', usedToken).update('successor').digest();

const xor = (a: Buffer, b: Buffer): Buffer => Buffer.from(a.map((byte, index) => byte ^ (b[index] ?? 0)));

export const hideSuccessor = (successor: string, usedToken: string): Buffer =>
  xor(Buffer.from(successor.slice(refreshPrefix.length), 'base64url'), pad(usedToken));

export const revealSuccessor = (hidden: Buffer, usedToken: string): string =>
  refreshPrefix + xor(hidden, pad(usedToken)).toString('base64url');
