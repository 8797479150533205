/** How a client proves its identity, and the request for a token. */
import { SignJWT } from 'jose';
import type { Dpop } from './dpop.ts';
import { ConnectionError } from './errors.ts';
import type { Platform } from './platform.ts';
import { importKey, type PrivateKey, type SigningKey } from './private-key.ts';
import type { RequestLoop } from './request-loop.ts';
import { postForm } from './request-rules.ts';
import { originOf, readFields } from './response.ts';
import type { IssuedToken } from './token-cache.ts';
import { isDetails } from './verify/access-token.ts';

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
  readonly dpop: Dpop | undefined;
  readonly platform: Platform;
  readonly loop: RequestLoop;
  readonly once: RequestLoop;
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
  const { issuer, clientId, auth, dpop, loop, once } = deps;
  const prove = createProof(deps);
  const isWorkload = (chain: string | undefined): boolean =>
    typeof auth === 'function' && chain === undefined;

  /** A workload exchanges its token; other clients, and workloads that redeem a delegation, use the token endpoint. */
  const formOf = async ({ resource, scope, chain }: TokenTarget): Promise<Record<string, string>> => {
    const wanted = { ...(resource && { resource }), ...(scope && { scope }) };
    const exchange = { grant_type: tokenExchange, subject_token_type: jwtType };
    if (chain !== undefined) return { ...exchange, subject_token: chain, ...wanted, ...(await prove()) };
    if (typeof auth !== 'function')
      return { grant_type: 'client_credentials', ...wanted, ...(await prove()) };
    return { ...exchange, client_id: clientId, subject_token: await readWorkloadToken(auth), ...wanted };
  };

  return {
    prove,
    post: ({ path, form, once: isOnce, signal }, read) =>
      (isOnce ? once : loop)(
        {
          url: `${issuer}${path}`,
          init: async () => postForm({ ...form, ...(await prove()) }),
          repeat: 'after-429',
          signal,
          fetch: dpop?.fetch,
        },
        read,
      ),
    issue: (target, isOnce) =>
      (isOnce ? once : loop)(
        {
          url: `${issuer}/api/v1/${isWorkload(target.chain) ? 'oidc/token' : 'token'}`,
          init: async () => postForm(await formOf(target)),
          // A second token does no harm.
          repeat: 'always',
          fetch: dpop?.fetch,
        },
        (response) => readToken(response, dpop),
      ),
  };
}

/** The fields of the token endpoint that prove the client's identity. */
export function createProof({
  issuer,
  clientId,
  auth,
  platform,
}: Pick<TokenRequestDeps, 'issuer' | 'clientId' | 'auth' | 'platform'>): () => Promise<
  Record<string, string>
> {
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
    imported ??= importKey(auth, 'auth');
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

/** Not a TypeError, which would look like a network error. */
export async function readWorkloadToken(auth: () => string | Promise<string>): Promise<string> {
  try {
    const token = await auth();
    if (typeof token === 'string' && token !== '') return token;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : cause;
    throw new Error(`the function in auth failed: ${reason}`, { cause });
  }
  throw new Error("the function in auth must return the workload's token as text");
}

/** With `dpop`, a token that is not bound is no use: a thief could present it. */
export async function readToken(response: Response, dpop: Dpop | undefined): Promise<IssuedToken> {
  const answer = await readFields(response, maxAnswerBytes);
  const { access_token, token_type, expires_in, scope, refresh_token, authorization_details } = answer;
  const invalid = (problem: string) =>
    new ConnectionError('invalid_response', `${originOf(response)} sent no usable token: ${problem}`);
  if (typeof access_token !== 'string' || !/^[\x21-\x7e]+$/.test(access_token))
    throw invalid('access_token is not a token');
  const type = dpop ? 'DPoP' : 'Bearer';
  if (typeof token_type !== 'string' || token_type.toLowerCase() !== type.toLowerCase())
    throw invalid(`token_type is not ${type}`);
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
