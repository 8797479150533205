/**
 * Proof of possession (RFC 9449): each request carries a proof that its sender has the key to which the token is bound, so that a stolen
 * token is useless. The client of the SDK does this with `dpop: true`.
 */
import {
  base64url,
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  type JWK,
  SignJWT,
} from 'jose';
import { readSecureUrl } from './addresses.ts';
import { createPlatform, type Platform } from './platform.ts';
import { importKey, isJwk, type SigningKey } from './private-key.ts';
import { discard, readRefusal } from './response.ts';

export interface DpopOptions {
  /** A pair of keys (the private one may be non-extractable), or a private JWK. By default a new pair of the type ES256, in memory only. */
  readonly key?: { readonly privateKey: CryptoKey; readonly publicKey: CryptoKey } | JWK;
  /** Such as `ES256`, `EdDSA` or `PS256`. Needed for RSA keys as JWK. */
  readonly algorithm?: string;
  /** For tests, and for programs with a fetch of their own. */
  readonly platform?: Partial<Platform>;
}

export interface ProofRequest {
  readonly method: string;
  readonly url: string | URL;
  /** The token that goes along. Absent at the token endpoint. */
  readonly accessToken?: string | undefined;
  /** The body as it is sent: the proof gets its digest (`content_digest`, which MCP servers may demand). */
  readonly body?: string | Uint8Array | undefined;
}

export interface DpopFetchOptions extends RequestInit {
  /** Sent as `Authorization: DPoP`. */
  readonly accessToken?: string | undefined;
}

export interface Dpop {
  /** The thumbprint of the key (RFC 7638): `cnf.jkt` of its tokens, and `dpop_jkt`. */
  thumbprint(): Promise<string>;
  /** A proof for one request: the text of its `DPoP` header. It has the latest nonce of the server. */
  prove(request: ProofRequest): Promise<string>;
  /** As the global fetch, with a proof. If the server demands a nonce, the request is sent once more. */
  fetch(url: string | URL, options?: DpopFetchOptions): Promise<Response>;
}

interface Keys {
  readonly signing: SigningKey;
  readonly publicJwk: JWK;
}

const maxOrigins = 100;

export function createDpop(options: DpopOptions = {}): Dpop {
  const { key, algorithm } = options;
  if (key !== undefined && !isJwk(key) && !('privateKey' in key && 'publicKey' in key))
    throw new TypeError('dpop.key must be a pair of keys or a private JWK');
  const platform = createPlatform(options.platform);
  let made: Promise<Keys> | undefined;
  const keys = (): Promise<Keys> => {
    made ??= readKeys(key, algorithm);
    return made;
  };
  /** By origin, in the order of their arrival. */
  const nonces = new Map<string, string>();

  const prove = async ({ method, url: address, accessToken, body }: ProofRequest): Promise<string> => {
    const { signing, publicJwk } = await keys();
    const url = new URL(address);
    const nonce = nonces.get(url.origin);
    return new SignJWT({
      jti: crypto.randomUUID(),
      htm: method,
      htu: `${url.origin}${url.pathname}`,
      iat: Math.floor(platform.now() / 1000),
      ...(accessToken !== undefined && { ath: base64url.encode(await sha256(accessToken)) }),
      ...(body !== undefined && { content_digest: await contentDigest(body) }),
      ...(nonce !== undefined && { nonce }),
    })
      .setProtectedHeader({ typ: 'dpop+jwt', alg: signing.algorithm, jwk: publicJwk })
      .sign(signing.key);
  };

  const learnNonce = (origin: string, response: Response): boolean => {
    const nonce = response.headers.get('dpop-nonce');
    if (nonce === null || nonce === nonces.get(origin)) return false;
    nonces.delete(origin);
    nonces.set(origin, nonce);
    const [oldest] = nonces.keys();
    if (nonces.size > maxOrigins && oldest !== undefined) nonces.delete(oldest);
    return true;
  };

  return {
    prove,
    thumbprint: async () => calculateJwkThumbprint((await keys()).publicJwk),
    async fetch(address, { accessToken, ...init } = {}) {
      const url = readSecureUrl(address, 'url');
      const { request, digested } = await withBytes(url, init, accessToken !== undefined);
      const headers = new Headers(request.headers);
      if (accessToken !== undefined) headers.set('authorization', `DPoP ${accessToken}`);
      const method = methodOf(request);
      for (let isRepeated = false; ; isRepeated = true) {
        headers.set('dpop', await prove({ method, url, accessToken, body: digested }));
        const response = await platform.fetch(url, { ...request, headers });
        const isNew = learnNonce(url.origin, response);
        if (!isNew || isRepeated || isStream(request.body) || !(await demandsNonce(response)))
          return response;
        discard(response);
      }
    },
  };
}

/** What programs give as `dpop`: nothing, `true`, a key, or what `createDpop` has returned. */
export function readDpop(
  given: boolean | DpopOptions | Dpop | undefined,
  platform: Partial<Platform> | undefined,
): Dpop | undefined {
  if (given === undefined || given === false) return undefined;
  if (typeof given === 'object' && given !== null && 'prove' in given) return given;
  if (given !== true && (typeof given !== 'object' || given === null))
    throw new TypeError('dpop must be true, { key }, or the result of createDpop');
  return createDpop({ ...(platform && { platform }), ...(given === true ? {} : given) });
}

async function readKeys(key: DpopOptions['key'], algorithm: string | undefined): Promise<Keys> {
  const pair = key ?? (await generateKeyPair(algorithm ?? 'ES256'));
  const given = isJwk(pair) ? pair : pair.privateKey;
  const signing = await importKey({ key: given, ...(algorithm !== undefined && { algorithm }) }, 'dpop');
  const { kty, crv, x, y, n, e } = isJwk(pair) ? pair : await exportJWK(pair.publicKey);
  const members = Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined);
  return { signing, publicJwk: Object.fromEntries(members) as JWK };
}

const sha256 = async (data: string | Uint8Array): Promise<Uint8Array> => {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
};

/** As in the header Content-Digest (RFC 9530). */
export const contentDigest = async (body: string | Uint8Array): Promise<string> =>
  `sha-256=:${btoa(String.fromCharCode(...(await sha256(body))))}:`;

export const hashOfToken = async (token: string): Promise<string> => base64url.encode(await sha256(token));

const methodOf = ({ method = 'GET' }: RequestInit): string => {
  // As fetch does: other methods are sent as they are written.
  const upper = method.toUpperCase();
  return ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'].includes(upper) ? upper : method;
};

export const isStream = (body: RequestInit['body']): boolean =>
  typeof body === 'object' &&
  body !== null &&
  (Symbol.asyncIterator in body || body instanceof ReadableStream);

/** The digest is of the bytes that are sent, so a form is written once. A stream is sent as it is, without a digest. */
async function withBytes(
  url: URL,
  init: RequestInit,
  isDigested: boolean,
): Promise<{ readonly request: RequestInit; readonly digested?: string | Uint8Array }> {
  const { body } = init;
  if (!isDigested || body === undefined || body === null || isStream(body)) return { request: init };
  const written = new Request(url, { ...init, method: 'POST', signal: null });
  const bytes = new Uint8Array(await written.arrayBuffer());
  return { request: { ...init, headers: written.headers, body: bytes }, digested: bytes };
}

/** At the token endpoint the body says it (RFC 9449 §8), at an API the challenge (§9). */
async function demandsNonce(response: Response): Promise<boolean> {
  if (response.status !== 400 && response.status !== 401) return false;
  if (/\berror="?use_dpop_nonce\b/.test(response.headers.get('www-authenticate') ?? '')) return true;
  return (await readRefusal(response.clone())).code === 'use_dpop_nonce';
}
