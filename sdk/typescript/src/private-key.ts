/** Private keys as programs give them. */
import { type CryptoKey, importJWK, importPKCS8, type JWK } from 'jose';

/** A key whose public part is registered for the agent (`PUT /agents/{agentId}/keys`). */
export interface PrivateKey {
  /** A CryptoKey, a JWK, or PEM text (PKCS #8). */
  readonly key: CryptoKey | JWK | string;
  /** The `kid` under which the public key is registered. Needed if the agent has several keys. `kid` of a JWK by default. */
  readonly keyId?: string;
  /** Such as `ES256`, `EdDSA`, `RS256` or `PS256`. Needed for PEM text. */
  readonly algorithm?: string;
}

export interface SigningKey {
  readonly key: CryptoKey | Uint8Array;
  readonly algorithm: string;
  readonly keyId: string | undefined;
}

/** `option` is the name of the option that has the key. */
export async function importKey(
  { key, keyId, algorithm }: PrivateKey,
  option: 'auth' | 'dpop',
): Promise<SigningKey> {
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
    const reason = cause instanceof Error ? cause.message : cause;
    throw new Error(`the private key in ${option} cannot be used: ${reason}`, { cause });
  }
}

export const isJwk = (key: object): key is JWK => 'kty' in key;

const algorithmOf = (curve: string | undefined): string | undefined =>
  ({ 'P-256': 'ES256', 'P-384': 'ES384', Ed25519: 'EdDSA' })[curve ?? ''];
