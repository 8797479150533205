/** Parses the key sets of other issuers. Unusable keys are ignored, as RFC 7517 §5 asks. */
import { createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import { checkEdwardsPoint, checkRsaNumbers } from './keys.ts';

/** The allowed signature algorithms of external tokens, and the key that each requires. */
const requiredKeys: Readonly<Record<string, { kty: string; crv?: string }>> = {
  RS256: { kty: 'RSA' },
  RS384: { kty: 'RSA' },
  RS512: { kty: 'RSA' },
  PS256: { kty: 'RSA' },
  PS384: { kty: 'RSA' },
  PS512: { kty: 'RSA' },
  ES256: { kty: 'EC', crv: 'P-256' },
  ES384: { kty: 'EC', crv: 'P-384' },
  ES512: { kty: 'EC', crv: 'P-521' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519' },
  Ed25519: { kty: 'OKP', crv: 'Ed25519' },
};
export const isAllowedAlgorithm = (algorithm: unknown): algorithm is string =>
  typeof algorithm === 'string' && Object.hasOwn(requiredKeys, algorithm);

/** More than a key rotation needs; a longer set is refused as a whole. */
const maxKeys = 100;
/** Larger numbers would only cost CPU. */
const maxModulusBits = 8_192;
const maxExponentBytes = 8;
const maxKeyIdLength = 512;

export interface ExternalKey {
  readonly keyId: string | undefined;
  readonly kty: string;
  readonly crv: string | undefined;
  readonly alg: string | undefined;
  readonly key: KeyObject;
}

/** Throws when the body is not a key set, or has too many keys. */
export function readKeySet(body: Buffer): ExternalKey[] {
  const { keys } = (JSON.parse(body.toString('utf8')) ?? {}) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error('it is not a key set: "keys" is missing');
  if (keys.length > maxKeys) throw new Error(`it has ${keys.length} keys; the maximum is ${maxKeys}`);
  return keys.flatMap((jwk) => readKey(jwk) ?? []);
}

function readKey(jwk: unknown): ExternalKey | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined;
  const { kty, crv, kid, alg, use, key_ops, n, e, x, y } = jwk as Readonly<Record<string, unknown>>;
  // SPIFFE bundles name the kind of SVID that the key signs.
  if (use !== undefined && use !== 'sig' && use !== 'jwt-svid') return undefined;
  if (Array.isArray(key_ops) && !key_ops.includes('verify')) return undefined;
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > maxKeyIdLength)) return undefined;
  if (alg !== undefined && !isAllowedAlgorithm(alg)) return undefined;
  if (typeof n === 'string' && n.length > maxModulusBits / 4) return undefined;
  try {
    // Public members only, even if the issuer published private ones.
    const members = { kty, crv, n, e, x, y } as unknown as JsonWebKeyInput['key'];
    const key = createPublicKey({ key: members, format: 'jwk' });
    const exported = key.export({ format: 'jwk' }) as JWK;
    checkStrength(exported);
    return { keyId: kid, kty: String(exported.kty), crv: exported.crv, alg, key };
  } catch {
    return undefined;
  }
}

function checkStrength(key: JWK): void {
  if (key.kty === 'RSA') {
    checkRsaNumbers(key);
    const bits = Buffer.from(key.n ?? '', 'base64url').length * 8;
    if (bits > maxModulusBits) throw new Error(`has ${bits} bits`);
    if (Buffer.from(key.e ?? '', 'base64url').length > maxExponentBytes)
      throw new Error('has a huge exponent');
  } else if (key.kty === 'OKP') {
    checkEdwardsPoint(key);
  }
}

/** The only key that matches the token. Undefined when several match: the code does not guess. */
export function pickKey(
  keys: readonly ExternalKey[],
  { algorithm, keyId }: { algorithm: string; keyId: string | undefined },
): KeyObject | undefined {
  const required = requiredKeys[algorithm];
  const matching = keys.filter(
    ({ kty, crv, alg, keyId: id }) =>
      kty === required?.kty &&
      (required.crv === undefined || crv === required.crv) &&
      (alg === undefined || family(alg) === family(algorithm)) &&
      (keyId === undefined || id === keyId),
  );
  return matching.length === 1 ? matching[0]?.key : undefined;
}

/** RFC 9864 gave EdDSA on this curve a second name. */
const family = (algorithm: string) => (algorithm === 'Ed25519' ? 'EdDSA' : algorithm);
