/** Checks that the sender of a request has the key to which its token is bound (RFC 9449 §4.3). */
import {
  type CryptoKey,
  calculateJwkThumbprint,
  compactVerify,
  decodeProtectedHeader,
  importJWK,
  type JWK,
} from 'jose';
import { contentDigest, hashOfToken } from '../dpop.ts';
import type { Platform } from '../platform.ts';
import {
  headersNamed,
  type IncomingRequest,
  proofAlgorithms,
  type RawBody,
  type Refuse,
  type RequestWithHeaders,
} from './bearer.ts';
import type { ProofStore } from './proof-store.ts';

export interface ProofCheckOptions {
  /** Where clients reach the API. */
  readonly publicUrls: readonly URL[];
  /** A request with a body needs `content_digest`. */
  readonly requireContentDigest: boolean;
  readonly store: ProofStore;
  readonly platform: Pick<Platform, 'now'>;
}

/** `thumbprint` is that of the token. Throws a TypeError if the program does not give the body that the check needs. */
export type CheckProof = (
  source: IncomingRequest,
  token: string,
  thumbprint: string,
  refuse: Refuse,
) => Promise<void>;

const maxProofLength = 8 * 1024;
const maxIdLength = 256;
const maxAgeSeconds = 300;
const maxCachedKeys = 1_000;
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

export function createProofCheck(options: ProofCheckOptions): CheckProof {
  const { publicUrls, requireContentDigest, store, platform } = options;
  /** By algorithm and thumbprint, oldest first. Only keys of genuine tokens get here. */
  const keys = new Map<string, CryptoKey | Uint8Array>();

  const keyOf = async (jwk: JWK, alg: string, thumbprint: string) => {
    const id = `${alg} ${thumbprint}`;
    const key = keys.get(id) ?? (await importJWK(jwk, alg));
    keys.delete(id);
    keys.set(id, key);
    const [oldest] = keys.keys();
    if (keys.size > maxCachedKeys && oldest !== undefined) keys.delete(oldest);
    return key;
  };

  const verify = async (proof: string, thumbprint: string) => {
    const { alg, jwk } = readKey(proof);
    if ((await calculateJwkThumbprint(jwk).catch(() => '')) !== thumbprint)
      throw new Error('the proof is by another key than the token is bound to');
    try {
      return readClaims((await compactVerify(proof, await keyOf(jwk, alg, thumbprint))).payload);
    } catch (cause) {
      throw new Error('the signature of the proof is wrong', { cause });
    }
  };

  /** The id of the proof, and when it expires. */
  const check = async (source: IncomingRequest, token: string, thumbprint: string) => {
    const claims = await verify(readHeader(source), thumbprint);
    const { jti, htm, htu, iat, ath, content_digest: digest } = claims;
    if (typeof jti !== 'string' || jti === '' || jti.length > maxIdLength)
      throw new Error(`the proof needs a jti of 1 to ${maxIdLength} characters`);
    const request = readRequest(source);
    if (htm !== request.method) throw new Error(`the htm of the proof must be ${request.method}`);
    const addresses = publicUrls.map((base) => addressOf(base, request.path));
    if (typeof htu !== 'string' || !addresses.some((address) => isSameAddress(htu, address)))
      throw new Error(`the htu of the proof must be ${addresses.join(' or ')}`);
    checkTimes(claims, platform.now() / 1000);
    if (ath !== (await hashOfToken(token)))
      throw new Error('the ath of the proof must be the hash of the token');
    await checkDigest(source, digest, requireContentDigest);
    const expiresAt = (Number(iat) + maxAgeSeconds) * 1000;
    return { id: await hashOfToken(`${thumbprint}.${jti}`), expiresAt };
  };

  return async (source, token, thumbprint, refuse) => {
    const { id, expiresAt } = await check(source, token, thumbprint).catch((error: unknown) => {
      throw error instanceof TypeError
        ? error
        : refuse('invalid_dpop_proof', (error as Error).message, error);
    });
    let isNew: boolean;
    try {
      isNew = await store.add(id, expiresAt);
    } catch (error) {
      throw refuse('temporarily_unavailable', 'the proof cannot be checked at the moment', error);
    }
    if (!isNew) throw refuse('invalid_dpop_proof', 'the proof was used before');
  };
}

function readHeader(source: IncomingRequest): string {
  const [proof, ...others] = headersNamed(source, 'dpop');
  if (proof === undefined) throw new Error('the request has no DPoP header');
  if (others.length > 0 || proof.includes(',')) throw new Error('the request has several DPoP headers');
  if (proof.length > maxProofLength) throw new Error('the proof is too long');
  return proof;
}

function readKey(proof: string): { readonly alg: string; readonly jwk: JWK } {
  const { typ, alg, jwk, crit } = decode(() => decodeProtectedHeader(proof));
  if (typ !== 'dpop+jwt') throw new Error('the typ of the proof must be dpop+jwt');
  if (crit !== undefined) throw new Error('the proof has a critical header that is not known');
  if (!proofAlgorithms.some((one) => one === alg))
    throw new Error(`the alg of the proof must be one of ${proofAlgorithms.join(', ')}`);
  if (typeof jwk !== 'object' || jwk === null) throw new Error('the proof has no jwk in its header');
  if (privateMembers.some((member) => member in jwk))
    throw new Error('the jwk of the proof must have no private members');
  const { kty, crv, x, y, n, e } = jwk;
  const members = Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined);
  return { alg: String(alg), jwk: Object.fromEntries(members) as unknown as JWK };
}

function readClaims(payload: Uint8Array): Readonly<Record<string, unknown>> {
  const claims: unknown = decode(() => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload)));
  if (typeof claims === 'object' && claims !== null && !Array.isArray(claims)) return { ...claims };
  throw new Error('the proof is no signed JWT');
}

function decode<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new Error('the proof is no signed JWT', { cause });
  }
}

function checkTimes({ iat, exp, nbf }: Readonly<Record<string, unknown>>, now: number): void {
  if (typeof iat !== 'number' || !(Math.abs(iat - now) <= maxAgeSeconds))
    throw new Error(`the iat of the proof must be at most ${maxAgeSeconds} seconds from now`);
  if (exp !== undefined && !(typeof exp === 'number' && exp > now)) throw new Error('the proof has expired');
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= now + maxAgeSeconds))
    throw new Error('the proof is not valid yet');
}

function readRequest(source: IncomingRequest): { readonly method: string; readonly path: string } {
  const { method, url, originalUrl = url } = source as RequestWithHeaders;
  if (typeof method !== 'string' || typeof originalUrl !== 'string')
    throw new Error('this API does not accept proofs: it does not know the address of the request');
  // Only the path counts: the client has chosen the other parts.
  const path = originalUrl.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  return { method, path };
}

const addressOf = (base: URL, path: string): string => {
  const folder = base.pathname.replace(/\/+$/, '');
  return `${base.origin}${folder}${path.startsWith('/') ? path : `/${path}`}`;
};

/** The URL parser also reads what is no URI, such as backslashes. A `htu` has no query, fragment or credentials. */
const addressForm = /^https?:\/\/[\w.[\]:-]+(?:\/[!-"$->@-[\]-~]*)?$/i;

/** RFC 3986 §6.2.2 and §6.2.3. */
const isSameAddress = (htu: string, address: string): boolean =>
  addressForm.test(htu) &&
  URL.canParse(htu) &&
  URL.canParse(address) &&
  normalized(new URL(htu)) === normalized(new URL(address));

const normalized = ({ origin, pathname }: URL): string =>
  origin +
  pathname.replace(/%[\da-f]{2}/gi, (escaped) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : escaped.toUpperCase();
  });

/** Without the bytes of the body, a digest that is not demanded is not compared. */
async function checkDigest(source: IncomingRequest, digest: unknown, isRequired: boolean): Promise<void> {
  if (digest === undefined && !isRequired) return;
  const body = await readBody(source as RequestWithHeaders);
  if (body === undefined) {
    if (!isRequired) return;
    throw new TypeError(
      'content_digest is required, but the request has no raw body: set `rawBody` where the body is parsed, as the README shows',
    );
  }
  if (digest === undefined) {
    if (body.length === 0) return;
    throw new Error('the proof needs content_digest, the hash of the body');
  }
  if (digest !== (await contentDigest(body)))
    throw new Error('the content_digest of the proof is not that of the body');
}

async function readBody(source: RequestWithHeaders): Promise<RawBody> {
  if (source instanceof Request)
    return source.bodyUsed ? undefined : new Uint8Array(await source.clone().arrayBuffer());
  const { rawBody, body, method } = source;
  const given = typeof rawBody === 'function' ? await rawBody() : rawBody;
  for (const bytes of [given, body])
    if (typeof bytes === 'string' || bytes instanceof Uint8Array) return bytes;
  return hasNoBody(source, method) ? '' : undefined;
}

/** A request without these headers has no body (RFC 9112 §6.3). */
const hasNoBody = (source: IncomingRequest, method: string | undefined): boolean =>
  method !== undefined &&
  headersNamed(source, 'transfer-encoding').length === 0 &&
  headersNamed(source, 'content-length').every((length) => length === '0');
