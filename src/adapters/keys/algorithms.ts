/** The algorithms of our own signatures. The key decides which one is used; the header of a token never does. */
import { type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { Claims } from '../../kernel/ports/signer.ts';

interface SigningAlgorithm {
  /** The value of `alg`. RFC 9864 also names EdDSA on this curve Ed25519, but many verifiers know only the older name. */
  readonly name: 'RS256' | 'ES256' | 'EdDSA';
  /** For node:crypto; Ed25519 hashes by itself. */
  readonly digest: 'sha256' | null;
  readonly webCrypto: Parameters<KeyObject['toCryptoKey']>[0];
}

const rs256: SigningAlgorithm = {
  name: 'RS256',
  digest: 'sha256',
  webCrypto: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
};
const es256: SigningAlgorithm = {
  name: 'ES256',
  digest: 'sha256',
  webCrypto: { name: 'ECDSA', namedCurve: 'P-256' },
};
const edDsa: SigningAlgorithm = { name: 'EdDSA', digest: null, webCrypto: { name: 'Ed25519' } };

export const signingAlgorithms = [rs256, es256, edDsa] as const;

/** The only algorithm of one of our keys, by its JWK. `alg` in the JWK has no influence. */
export function algorithmOf({ kty, crv }: Claims): SigningAlgorithm {
  if (kty === 'RSA') return rs256;
  if (kty === 'EC' && crv === 'P-256') return es256;
  if (kty === 'OKP' && crv === 'Ed25519') return edDsa;
  throw new Error('is not a key for RS256, ES256 or EdDSA');
}

const signOnThreadPool = promisify(sign);

/**
 * Signs a text as a compact JWS. The one-shot `sign` with a callback runs on the thread pool and costs the main thread half as much
 * as WebCrypto: docs/decisions/007-hot-paths.md.
 */
export function createJwsSigner(privateKey: KeyObject, { digest }: SigningAlgorithm) {
  // JWS needs r and s of fixed length (RFC 7518 §3.4) instead of DER. Other kinds of key ignore the option.
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
  return async (encodedHeader: string, text: string): Promise<string> => {
    const signed = `${encodedHeader}.${Buffer.from(text).toString('base64url')}`;
    const signature = await signOnThreadPool(digest, Buffer.from(signed), key);
    return `${signed}.${signature.toString('base64url')}`;
  };
}

export const encodeHeader = (header: object): string =>
  Buffer.from(JSON.stringify(header)).toString('base64url');
