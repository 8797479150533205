/**
 * Tokens of other issuers, verified with the keys that they publish. Implemented by adapters/keys/external-tokens.ts, which gets key
 * sets from adapters/keys/key-sets.ts.
 */
import type { ExternalTokenReason } from '../../contract/external-tokens.ts';
import type { Claims } from './signer.ts';

/** The location of an issuer's keys: `jwksUri`, or its discovery document when that is null. */
export interface KeySource {
  readonly issuer: string;
  readonly jwksUri: string | null;
}

/**
 * `token`: a token of a workload's platform. `svid`: a JWT-SVID, which names its trust domain in `sub` and may leave `iss` out. `id-jag`: an
 * identity assertion about a person, which its `typ` separates from the others.
 */
export type ExternalTokenKind = 'token' | 'svid' | 'id-jag';

/** The unverified content of a token: only for looking up its issuer. */
export interface UnverifiedToken {
  readonly token: string;
  /** Empty when the token names none. */
  readonly issuer: string;
  readonly claims: Claims;
  readonly algorithm: string;
  readonly keyId: string | undefined;
  /** A hash of the signed content: equal for every base64url spelling of the same token. */
  readonly fingerprint: string;
}

export interface ExternalTokenRefusal {
  readonly reason: ExternalTokenReason;
}

/** Signed by the issuer and valid now. The caller checks audience and subject. */
export interface VerifiedToken {
  readonly claims: Claims;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  readonly issuedAt: number | undefined;
}

export interface ExternalTokens {
  /** By default a `token`. */
  read(token: string, kind?: ExternalTokenKind): UnverifiedToken | ExternalTokenRefusal;
  /** Whether the header says that it is an identity assertion (ID-JAG). */
  isIdJag(token: string): boolean;
  verify(token: UnverifiedToken, source: KeySource): Promise<VerifiedToken | ExternalTokenRefusal>;
}

export const isRefused = (result: object): result is ExternalTokenRefusal => 'reason' in result;

/** Nested `act` claims (RFC 8693 §4.1). A token with more is refused, because a part of its history would say something else. */
export const maxActors = 10;

/** How many `act` claims are nested in the claims of a token, whatever they are. */
export function countActors(claims: unknown): number {
  let count = -1;
  for (let level = claims; typeof level === 'object' && level !== null; count += 1)
    level = (level as { act?: unknown }).act;
  return count;
}

/** The `aud` claim as a list; empty when it is missing or malformed. */
export function audiencesOf({ aud }: Claims): readonly string[] {
  if (typeof aud === 'string') return [aud];
  return Array.isArray(aud) ? aud.filter((item) => typeof item === 'string') : [];
}
