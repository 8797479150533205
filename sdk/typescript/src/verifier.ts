/** Verifies access tokens that agents present to an API. */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { readIssuer } from './addresses.ts';
import type { TokenError } from './errors.ts';
import { createPlatform, type Platform } from './platform.ts';
import { isId, readClaims, type Subject, type VerifiedToken } from './verify/access-token.ts';
import { createRefusal, type IncomingRequest, type Refuse, readBearerToken } from './verify/bearer.ts';
import { createIntrospection, type IntrospectionClient } from './verify/introspection.ts';
import { createKeySet, KeysUnavailable } from './verify/key-set.ts';

export type VerifierOptions = {
  /** The address of Countersign, without `/api/v1`: `iss` of its tokens. */
  readonly issuer: string;
  /** The identifier of your resource: `aud` of its tokens. */
  readonly audience: string;
  /** On whose behalf the calling agents may act: `agents` (themselves or other agents), `people`, or `any`. There is no default. */
  readonly subjects: Subjects;
  /** How far the clocks may differ. 5 seconds by default. */
  readonly clockToleranceSeconds?: number;
  /** The address of your metadata (RFC 9728). Refusals name it, so that MCP clients find Countersign. */
  readonly resourceMetadata?: string;
  /** Public keys, if they should not be fetched from the issuer. */
  readonly jwks?: JSONWebKeySet;
  /** For tests, and for programs with a fetch of their own. */
  readonly platform?: Partial<Platform>;
} & (
  | {
      /** The organization whose tokens are accepted, or several. */
      readonly organizationId: string | readonly string[];
      readonly acceptAnyOrganization?: false;
    }
  | {
      /** Tokens of every organization on the instance are accepted: compare `organizationId` yourself. */
      readonly acceptAnyOrganization: true;
      readonly organizationId?: undefined;
    }
) &
  (
    | {
        /** Offline: a token counts until it expires. */
        readonly revocation: 'none';
      }
    | {
        /** Asks Countersign about each token. Without an answer, the token is refused with 503. */
        readonly revocation: 'introspect';
        readonly introspectWith: IntrospectionClient;
        /** How long an answer counts. 0 by default: every call asks. */
        readonly introspectionCacheSeconds?: number;
      }
  );

export type Subjects = 'agents' | 'people' | 'any';

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

const subjectTypes: Readonly<Record<Subjects, readonly Subject['type'][]>> = {
  agents: ['agent'],
  people: ['person'],
  any: ['agent', 'person'],
};

/** The algorithms that an instance may have. `jose` uses a key with its own algorithm only. */
const algorithms = ['RS256', 'ES256', 'EdDSA'];

export function createVerifier(options: VerifierOptions): Verifier {
  const { audience, subjects, clockToleranceSeconds = 5, resourceMetadata } = checked(options);
  const platform = createPlatform(options.platform);
  const issuer = readIssuer(options.issuer);
  const keys = options.jwks
    ? createLocalJWKSet(options.jwks)
    : createKeySet(new URL(`${issuer}/.well-known/jwks.json`), platform);
  const introspect =
    options.revocation === 'introspect'
      ? createIntrospection({
          issuer,
          client: options.introspectWith,
          cacheSeconds: options.introspectionCacheSeconds ?? 0,
          platform,
        })
      : undefined;
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

  const verifySignature = async (token: string, refuse: Refuse) => {
    try {
      const { payload } = await jwtVerify(token, withKeyId, {
        issuer,
        audience,
        algorithms,
        typ: 'at+jwt',
        requiredClaims: ['exp'],
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(platform.now()),
      });
      return payload;
    } catch (error) {
      throw refusalOf(error, refuse);
    }
  };

  /** The scopes that count now: those of the token, without the ones that it has lost since. */
  const scopesNow = async (token: string, verified: VerifiedToken, refuse: Refuse) => {
    if (!introspect) return verified.scopes;
    const current = await introspect(token, verified.claims.jti).catch((error: unknown) => {
      throw refuse('temporarily_unavailable', 'the token cannot be checked at the moment', error);
    });
    if (!current)
      throw refuse('invalid_token', 'the token was revoked, or its agent may not use it any more');
    return verified.scopes.filter((scope) => current.includes(scope));
  };

  return {
    audience,
    async verify(source, { scopes = [], maxDepth } = {}) {
      const required = [scopes].flat();
      for (const scope of required) checkScope(scope);
      if (maxDepth !== undefined) checkCount(maxDepth, 'maxDepth', 10);
      const challenge = { scopes: required, resourceMetadata };
      const refuse = createRefusal(challenge);
      const token = readBearerToken(source, challenge);
      const verified = await readToken(token, refuse);
      checkSubject(verified.subject, subjects, refuse);
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

/** Mistakes of the program, not of a request. */
function checked(options: VerifierOptions): VerifierOptions {
  const { audience, organizationId, acceptAnyOrganization, resourceMetadata } = options;
  if (typeof audience !== 'string' || audience === '')
    throw new TypeError('audience must be the identifier of your resource');
  if (!Object.hasOwn(subjectTypes, options.subjects))
    throw new TypeError(
      "subjects must be 'agents' (agents that act for themselves or for other agents), 'people' (agents that act for a person) or 'any'",
    );
  const ids = [organizationId ?? []].flat();
  if (acceptAnyOrganization !== true && (ids.length === 0 || !ids.every(isId)))
    throw new TypeError('organizationId must be a UUID in lower case; or set acceptAnyOrganization');
  if (options.revocation === 'introspect') {
    if (typeof options.introspectWith?.fetch !== 'function')
      throw new TypeError(
        "revocation 'introspect' needs introspectWith: a client whose agent has tokens:read",
      );
    checkCount(options.introspectionCacheSeconds ?? 0, 'introspectionCacheSeconds', 300);
  } else if (options.revocation !== 'none')
    throw new TypeError("revocation must be 'none' (offline) or 'introspect'");
  checkCount(options.clockToleranceSeconds ?? 0, 'clockToleranceSeconds', 300);
  if (resourceMetadata !== undefined && !URL.canParse(resourceMetadata))
    throw new TypeError('resourceMetadata must be an absolute URL');
  return options;
}

function checkCount(value: number, name: string, max: number): void {
  if (!(Number.isFinite(value) && value >= 0 && value <= max))
    throw new TypeError(`${name} must be a number from 0 to ${max}`);
}

/** RFC 6749 §3.3. */
function checkScope(scope: unknown): void {
  if (typeof scope !== 'string' || !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope))
    throw new TypeError('scopes must be scope names; use a list for several');
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
