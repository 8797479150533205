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

/** The unverified content of a token: only for looking up its issuer. */
export interface UnverifiedToken {
  readonly token: string;
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
  read(token: string): UnverifiedToken | ExternalTokenRefusal;
  verify(token: UnverifiedToken, source: KeySource): Promise<VerifiedToken | ExternalTokenRefusal>;
}

export const isRefused = (result: object): result is ExternalTokenRefusal => 'reason' in result;

/** The `aud` claim as a list; empty when it is missing or malformed. */
export function audiencesOf({ aud }: Claims): readonly string[] {
  if (typeof aud === 'string') return [aud];
  return Array.isArray(aud) ? aud.filter((item) => typeof item === 'string') : [];
}

/** The problem with a URL of an issuer, a key set or a webhook receiver; undefined for a valid one. It makes no connection. */
export function urlProblem(
  address: string,
  { allowHttp, allowQuery }: { allowHttp: boolean; allowQuery: boolean },
): string | undefined {
  const schemes = allowHttp ? 'an absolute https:// (or http://) URL' : 'an absolute https:// URL';
  if (!(allowHttp ? /^https?:\/\//i : /^https:\/\//i).test(address)) return `must be ${schemes}`;
  // The URL parser would correct these silently; `iss` is compared with the text as given.
  if (!/^[!-~]+$/.test(address) || address.includes('\\'))
    return 'must be printable ASCII, without blanks or backslashes';
  if (!URL.canParse(address)) return `must be ${schemes}`;
  const url = new URL(address);
  const hasHost = /^[^/]*\/\/[^/?#]/.test(address) && !/^\.|\.\./.test(url.hostname) && url.port !== '0';
  if (!hasHost) return 'must name a host, and a port that can be connected to if any';
  if (url.username || url.password || /^[^/]*\/\/[^/?#]*@/.test(address)) return 'must not carry credentials';
  if (address.includes('#')) return 'must not have a fragment';
  return address.includes('?') && !allowQuery ? 'must not have a query' : undefined;
}
