/** Verifies access tokens that agents present to an API. */
import { createLocalJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { readIssuer } from './addresses.ts';
import type { TokenError } from './errors.ts';
import { createPlatform } from './platform.ts';
import { createSignals, type SignalsStatus } from './signals/signals.ts';
import { readClaims, type Subject, type VerifiedToken } from './verify/access-token.ts';
import {
  type Challenge,
  createRefusal,
  type IncomingRequest,
  type Refuse,
  readPresentedToken,
  type Scheme,
} from './verify/bearer.ts';
import { createIntrospection } from './verify/introspection.ts';
import { createKeySet, KeysUnavailable } from './verify/key-set.ts';
import {
  cacheSecondsOf,
  checkCount,
  checked,
  introspectionClientOf,
  publicUrlsOf,
  type Subjects,
  subjectTypes,
  type VerifierOptions,
} from './verify/options.ts';
import { createProofCheck } from './verify/proof.ts';
import { createProofStore } from './verify/proof-store.ts';

export interface VerifyOptions {
  /** The token needs all of them. */
  readonly scopes?: string | readonly string[];
  /** How many agents may have passed the delegation on. 0: delegated tokens are refused. */
  readonly maxDepth?: number;
}

export interface Verifier {
  readonly audience: string;
  /** Throws a TokenError unless the request has a token for this audience with these scopes. */
  verify(source: IncomingRequest | string, options?: VerifyOptions): Promise<VerifiedToken>;
}

/** With `revocation: 'signals'`. */
export interface SignalsVerifier extends Verifier {
  /** For a metric: alert when `state` is `silent`. */
  status(): SignalsStatus;
  /** Resolves with the status when all signals that wait were read, or when `close` is called before. Until then `whenSilent` counts. */
  ready(): Promise<SignalsStatus>;
  /** Ends the poll and deletes the stream. */
  close(): Promise<void>;
}

/** The algorithms that an instance may have. `jose` uses a key with its own algorithm only. */
const algorithms = ['RS256', 'ES256', 'EdDSA'];

export function createVerifier(
  options: VerifierOptions & { readonly revocation: 'signals' },
): SignalsVerifier;
export function createVerifier(options: VerifierOptions): Verifier;
export function createVerifier(options: VerifierOptions): Verifier | SignalsVerifier {
  const { audience, subjects, clockToleranceSeconds = 5, resourceMetadata } = checked(options);
  const platform = createPlatform(options.platform);
  const issuer = readIssuer(options.issuer);
  const keys = options.jwks
    ? createLocalJWKSet(options.jwks)
    : createKeySet(new URL(`${issuer}/.well-known/jwks.json`), platform);
  const introspectWith = introspectionClientOf(options);
  const introspect =
    introspectWith &&
    createIntrospection({
      issuer,
      client: introspectWith,
      platform,
      cacheSeconds: cacheSecondsOf(options),
    });
  const { dpop = 'accept', proofs = {} } = options;
  const whenSilent = options.revocation === 'signals' ? options.signals.whenSilent : undefined;
  const checkProof = createProofCheck({
    publicUrls: publicUrlsOf(options),
    requireContentDigest: proofs.requireContentDigest ?? false,
    store: proofs.store ?? createProofStore(platform),
    platform,
  });
  const organizations = options.acceptAnyOrganization === true ? undefined : [options.organizationId].flat();

  const readToken = async (token: string, refuse: Refuse): Promise<VerifiedToken> => {
    const claims = await verifySignature(token, refuse);
    try {
      const verified = readClaims(claims);
      if (organizations && !organizations.includes(verified.organizationId))
        throw new Error(
          `the token is of organization ${verified.organizationId}, not ${organizations.join(' or ')}`,
        );
      return verified;
    } catch (error) {
      throw refuse('invalid_token', (error as Error).message);
    }
  };

  const withKeyId: JWTVerifyGetKey = (header, input) => {
    if (typeof header.kid !== 'string') throw new Error('the token names no key');
    return keys(header, input);
  };

  const common = { issuer, algorithms, clockTolerance: clockToleranceSeconds };
  const verifySignature = async (token: string, refuse: Refuse) => {
    try {
      const { payload } = await jwtVerify(token, withKeyId, {
        ...common,
        audience,
        typ: 'at+jwt',
        requiredClaims: ['exp'],
        currentDate: new Date(platform.now()),
      });
      return payload;
    } catch (error) {
      throw refusalOf(error, refuse);
    }
  };

  const signals =
    options.revocation === 'signals'
      ? createSignals(options.signals, {
          issuer,
          audience,
          platform,
          async verify(token, ownAudience) {
            const expected = { ...common, audience: ownAudience, typ: 'secevent+jwt' };
            const currentDate = new Date(platform.now());
            return (await jwtVerify(token, withKeyId, { ...expected, currentDate })).payload;
          },
        })
      : undefined;

  /** A bound token needs its proof, and a token that is not bound must not look like one. */
  const checkBinding = async (
    source: IncomingRequest | string,
    { token, scheme }: { readonly token: string; readonly scheme: Scheme },
    { keyThumbprint }: VerifiedToken,
    challenge: Challenge,
  ) => {
    const refuse = createRefusal({ ...challenge, scheme: 'DPoP' });
    if (keyThumbprint === undefined) {
      if (scheme === 'DPoP')
        throw refuse('invalid_token', 'the token is not bound to a key: present it as Bearer');
      if (dpop === 'require')
        throw refuse('invalid_token', 'the token is not bound to a key, as this API demands');
      return;
    }
    if (dpop === 'refuse')
      throw createRefusal(challenge)(
        'invalid_token',
        'the token is bound to a key, which this API does not accept',
      );
    if (scheme !== 'DPoP' || typeof source === 'string')
      throw refuse('invalid_token', 'the token is bound to a key: present it as DPoP, with a proof');
    await checkProof(source, token, keyThumbprint, refuse);
  };

  const unchecked = 'the token cannot be checked at the moment';
  const ended = 'the token was revoked, or its agent may not use it any more';

  /** The scopes that count now: those of the token, without the ones that it has lost since. */
  const scopesNow = async (token: string, verified: VerifiedToken, refuse: Refuse) => {
    if (signals) {
      const judged = signals.judge(verified);
      if (judged === 'ended') throw refuse('invalid_token', ended);
      if (judged === 'good' || whenSilent === 'accept') return verified.scopes;
      if (whenSilent === 'refuse') throw refuse('temporarily_unavailable', unchecked);
    }
    if (!introspect) return verified.scopes;
    const current = await introspect(token, verified.claims.jti).catch((error: unknown) => {
      throw refuse('temporarily_unavailable', unchecked, error);
    });
    if (!current) throw refuse('invalid_token', ended);
    return verified.scopes.filter((scope) => current.includes(scope));
  };

  return {
    audience,
    async verify(source, { scopes = [], maxDepth } = {}) {
      const required = [scopes].flat();
      for (const scope of required) checkScope(scope);
      if (maxDepth !== undefined) checkCount(maxDepth, 'maxDepth', 10);
      const asked = {
        scopes: required,
        resourceMetadata,
        ...(dpop === 'require' && { scheme: 'DPoP' as const }),
      };
      const presented = readPresentedToken(source, asked);
      const { token } = presented;
      const challenge: Challenge = presented.scheme === 'DPoP' ? { ...asked, scheme: 'DPoP' } : asked;
      const refuse = createRefusal(challenge);
      const verified = await readToken(token, refuse);
      checkSubject(verified.subject, subjects, refuse);
      await checkBinding(source, presented, verified, challenge);
      const current = { ...verified, scopes: await scopesNow(token, verified, refuse) };
      const missing = required.filter((scope) => !current.scopes.includes(scope));
      if (missing.length > 0)
        throw refuse('insufficient_scope', `the token lacks the scope ${missing.join(' ')}`);
      const depth = current.chainId === undefined ? 0 : current.actors.length;
      if (maxDepth !== undefined && depth > maxDepth)
        throw refuse(
          'insufficient_scope',
          `the token was delegated ${times(depth)}, at most ${times(maxDepth)} is accepted`,
        );
      return current;
    },
    ...(signals && { status: signals.status, ready: signals.ready, close: signals.close }),
  };
}

/** A genuine token that this API does not want: 403, because a new token would be no better. */
function checkSubject({ type }: Subject, subjects: Subjects, refuse: Refuse): void {
  if (subjectTypes[subjects].includes(type)) return;
  throw refuse(
    'insufficient_scope',
    type === 'person'
      ? 'the subject of the token is a person; only agents are accepted'
      : 'the subject of the token is an agent; only people are accepted',
  );
}

function refusalOf(error: unknown, refuse: Refuse): TokenError {
  if (error instanceof KeysUnavailable)
    return refuse('temporarily_unavailable', 'the token cannot be checked at the moment', error);
  if (error instanceof errors.JWTExpired) return refuse('invalid_token', 'the token has expired', error);
  return refuse('invalid_token', error instanceof Error ? error.message : 'the token is not valid', error);
}

/** RFC 6749 §3.3. */
function checkScope(scope: unknown): void {
  if (typeof scope !== 'string' || !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope))
    throw new TypeError('scopes must be scope names; use a list for several');
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
