/** How a client proves its identity, and the request for a token. */
import { type CryptoKey, importJWK, importPKCS8, type JWK, SignJWT } from 'jose';
import { ConnectionError } from './errors.ts';
import type { Platform } from './platform.ts';
import { originOf, readError, readJson, redirectOf } from './response.ts';
import type { Outcome, Retry } from './retry.ts';
import type { IssuedToken } from './token-cache.ts';
import { isDetails } from './verify/access-token.ts';

/** A key whose public part is registered for the agent (`PUT /agents/{agentId}/keys`). */
export interface PrivateKey {
  /** A CryptoKey, a JWK, or PEM text (PKCS #8). */
  readonly key: CryptoKey | JWK | string;
  /** The `kid` under which the public key is registered. Needed if the agent has several keys. `kid` of a JWK by default. */
  readonly keyId?: string;
  /** Such as `ES256`, `EdDSA`, `RS256` or `PS256`. Needed for PEM text. */
  readonly algorithm?: string;
}

/** A client secret, a private key, or a function that returns a token of the workload's own platform. */
export type Auth = string | PrivateKey | (() => string | Promise<string>);

export interface TokenTarget {
  /** Absent: the API of Countersign. */
  readonly resource?: string | undefined;
  /** Absent: all scopes that the agent may hold. */
  readonly scope?: string | undefined;
  /** The delegation token that is redeemed. */
  readonly chain?: string | undefined;
}

export interface TokenRequests {
  /** One request without retries if `once`. */
  issue(target: TokenTarget, once: boolean): Promise<IssuedToken>;
  /** Sends a form to an endpoint at which clients authenticate. */
  post<T>(request: AuthenticatedForm, read: (response: Response) => Promise<T>): Promise<T>;
  /** The fields that prove the client's identity. */
  prove(): Promise<Record<string, string>>;
}

export interface AuthenticatedForm {
  readonly path: string;
  readonly form: Readonly<Record<string, string>>;
  /** Whether it is sent again after 429. Never after other failures: the work may be done. */
  readonly once: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface TokenRequestDeps {
  readonly issuer: string;
  readonly clientId: string;
  readonly auth: Auth;
  readonly platform: Platform;
  readonly retry: Retry;
  readonly once: Retry;
}

const jwtType = 'urn:ietf:params:oauth:token-type:jwt';
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
/** The server takes five minutes at most. Clocks may differ by two. */
const assertionSeconds = 180;
const maxAnswerBytes = 256 * 1024;
/** Tokens live an hour. A server that promises more than a day is faulty, and a revoked token should not be kept. */
const maxLifetimeSeconds = 86_400;

export function createTokenRequests(deps: TokenRequestDeps): TokenRequests {
  const { issuer, clientId, auth, platform, retry, once } = deps;
  const prove = createProof(deps);

  /** A workload exchanges its token; other clients, and workloads that redeem a delegation, use the token endpoint. */
  const formOf = async ({
    resource,
    scope,
    chain,
  }: TokenTarget): Promise<[string, Record<string, string>]> => {
    const wanted = { ...(resource && { resource }), ...(scope && { scope }) };
    if (chain !== undefined) {
      const exchange = { grant_type: tokenExchange, subject_token: chain, subject_token_type: jwtType };
      return ['/api/v1/token', { ...exchange, ...wanted, ...(await prove()) }];
    }
    if (typeof auth !== 'function')
      return ['/api/v1/token', { grant_type: 'client_credentials', ...wanted, ...(await prove()) }];
    const subject = { subject_token: await readWorkloadToken(auth), subject_token_type: jwtType };
    return ['/api/v1/oidc/token', { grant_type: tokenExchange, client_id: clientId, ...subject, ...wanted }];
  };

  const send = (path: string, form: Record<string, string>, signal: AbortSignal) =>
    platform.fetch(`${issuer}${path}`, {
      method: 'POST',
      headers: { accept: 'application/json' },
      body: new URLSearchParams(form),
      redirect: 'manual',
      signal,
    });

  return {
    prove,
    post: ({ path, form, once: isOnce, signal }, read) =>
      (isOnce ? once : retry)({ repeat: 'after-429', signal }, async (attemptSignal) => {
        const response = await send(path, { ...form, ...(await prove()) }, attemptSignal);
        if (response.status === 429 || response.status === 503) return { refused: response };
        return { result: await read(response) };
      }),
    issue: (target, isOnce) =>
      // A second token does no harm. Each attempt has a new assertion, since the server takes each once.
      (isOnce ? once : retry)({ repeat: 'always' }, async (signal): Promise<Outcome<IssuedToken>> => {
        const [path, form] = await formOf(target);
        const response = await send(path, form, signal);
        if (response.status === 429 || response.status === 503) return { refused: response };
        return { result: await readToken(response) };
      }),
  };
}

/** The fields of the token endpoint that prove the client's identity. */
function createProof({
  issuer,
  clientId,
  auth,
  platform,
}: TokenRequestDeps): () => Promise<Record<string, string>> {
  if (typeof auth === 'string') {
    if (auth === '') throw new TypeError('auth must not be an empty secret');
    // It would be sent to the server as a client secret.
    if (auth.includes('PRIVATE KEY-----'))
      throw new TypeError('auth is a private key: give it as { key, algorithm }, such as ES256');
    return async () => ({ client_id: clientId, client_secret: auth });
  }
  const asAssertion = (client_assertion: string) => ({
    client_id: clientId,
    client_assertion_type: assertionType,
    client_assertion,
  });
  if (typeof auth === 'function') return async () => asAssertion(await readWorkloadToken(auth));
  if (typeof auth !== 'object' || auth === null || !('key' in auth))
    throw new TypeError('auth must be a secret, { key }, or a function that returns a token');
  let imported: Promise<SigningKey> | undefined;
  return async () => {
    imported ??= importKey(auth);
    const { key, algorithm, keyId } = await imported;
    const issuedAt = Math.floor(platform.now() / 1000);
    const assertion = await new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: algorithm, ...(keyId !== undefined && { kid: keyId }) })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(issuer)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + assertionSeconds)
      .sign(key);
    return asAssertion(assertion);
  };
}

interface SigningKey {
  readonly key: CryptoKey | Uint8Array;
  readonly algorithm: string;
  readonly keyId: string | undefined;
}

async function importKey({ key, keyId, algorithm }: PrivateKey): Promise<SigningKey> {
  try {
    if (typeof key === 'string') {
      if (algorithm === undefined) throw new Error('a key as PEM text needs `algorithm`, such as ES256');
      return { key: await importPKCS8(key, algorithm), algorithm, keyId };
    }
    if (isJwk(key)) {
      const alg = algorithm ?? key.alg ?? algorithmOf(key.crv);
      if (alg === undefined) throw new Error('a key of this type needs `algorithm`, such as RS256');
      return { key: await importJWK(key, alg), algorithm: alg, keyId: keyId ?? key.kid };
    }
    const { name, hash, namedCurve } = key.algorithm as {
      name: string;
      hash?: { name: string };
      namedCurve?: string;
    };
    const rsa = { 'RSASSA-PKCS1-v1_5': 'RS', 'RSA-PSS': 'PS' }[name];
    const alg =
      algorithm ?? (rsa ? `${rsa}${hash?.name.slice('SHA-'.length)}` : algorithmOf(namedCurve ?? name));
    if (alg === undefined) throw new Error('a key of this type needs `algorithm`');
    return { key, algorithm: alg, keyId };
  } catch (cause) {
    throw new Error(
      `the private key in auth cannot be used: ${cause instanceof Error ? cause.message : cause}`,
      {
        cause,
      },
    );
  }
}

const isJwk = (key: CryptoKey | JWK): key is JWK => 'kty' in key;

const algorithmOf = (curve: string | undefined): string | undefined =>
  ({ 'P-256': 'ES256', 'P-384': 'ES384', Ed25519: 'EdDSA' })[curve ?? ''];

/** Not a TypeError, which would look like a network error. */
async function readWorkloadToken(auth: () => string | Promise<string>): Promise<string> {
  try {
    const token = await auth();
    if (typeof token === 'string' && token !== '') return token;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : cause;
    throw new Error(`the function in auth failed: ${reason}`, { cause });
  }
  throw new Error("the function in auth must return the workload's token as text");
}

export async function readToken(response: Response): Promise<IssuedToken> {
  const redirect = redirectOf(response);
  if (redirect) throw redirect;
  if (!response.ok) throw await readError(response);
  const answer = (await readJson(response, maxAnswerBytes)) as Readonly<Record<string, unknown>> | undefined;
  const { access_token, token_type, expires_in, scope, refresh_token, authorization_details } = answer ?? {};
  const invalid = (problem: string) =>
    new ConnectionError('invalid_response', `${originOf(response)} sent no usable token: ${problem}`);
  if (typeof access_token !== 'string' || !/^[\x21-\x7e]+$/.test(access_token))
    throw invalid('access_token is not a token');
  if (typeof token_type !== 'string' || token_type.toLowerCase() !== 'bearer')
    throw invalid('token_type is not Bearer');
  if (typeof expires_in !== 'number' || !(expires_in > 0))
    throw invalid('expires_in is not a number above 0');
  return {
    accessToken: access_token,
    lifetimeSeconds: Math.min(expires_in, maxLifetimeSeconds),
    scope: typeof scope === 'string' ? scope : '',
    ...(typeof refresh_token === 'string' && { refreshToken: refresh_token }),
    ...(isDetails(authorization_details) && { authorizationDetails: authorization_details }),
  };
}
