/**
 * Tokens that others have signed, read and checked with the keys they publish. The one implementation is
 * adapters/keys/external-tokens.ts, which gets key sets through adapters/keys/key-sets.ts.
 */
import type { ExternalTokenReason } from '../../contract/external-tokens.ts';
import type { Claims } from './signer.ts';

/** Where an issuer's keys are: `jwksUri`, or what its discovery document says when that is null. */
export interface KeySource {
  readonly issuer: string;
  readonly jwksUri: string | null;
}

/** What a token says of itself: good for looking up whose it might be, and nothing else before it is verified. */
export interface UnverifiedToken {
  readonly token: string;
  readonly issuer: string;
  readonly claims: Claims;
  readonly algorithm: string;
  readonly keyId: string | undefined;
  /** The same for every spelling of the same token: a hash of what is signed. */
  readonly fingerprint: string;
}

export interface ExternalTokenRefusal {
  readonly reason: ExternalTokenReason;
}

/** Signed by the issuer and valid now; for whom, and about whom, is for the asker to judge. */
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

/** Whom it is for; a token without a sound `aud` is for nobody. */
export function audiencesOf({ aud }: Claims): readonly string[] {
  if (typeof aud === 'string') return [aud];
  return Array.isArray(aud) ? aud.filter((item) => typeof item === 'string') : [];
}

/**
 * What is wrong with an address somebody gave us: of an issuer, of its keys, of a receiver; undefined when nothing is. Whether
 * it can be reached is seen when it is.
 */
export function urlProblem(
  address: string,
  { allowHttp, allowQuery }: { allowHttp: boolean; allowQuery: boolean },
): string | undefined {
  const schemes = allowHttp ? 'an absolute https:// (or http://) URL' : 'an absolute https:// URL';
  if (!(allowHttp ? /^https?:\/\//i : /^https:\/\//i).test(address)) return `must be ${schemes}`;
  // What a URL parser would mend, others read differently; and it is not what a token's `iss` is compared with.
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
