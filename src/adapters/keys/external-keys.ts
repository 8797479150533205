/** Keys that others publish: which of them can be used, and for what. Unusable ones are passed over, as RFC 7517 §5 asks. */
import { createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import { checkEdwardsPoint, checkRsaNumbers } from './keys.ts';

/** The only algorithms that outside tokens may be signed with, and what key each needs. */
const needs: Readonly<Record<string, { kty: string; crv?: string }>> = {
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
export const isOutsideAlgorithm = (algorithm: unknown): algorithm is string =>
  typeof algorithm === 'string' && Object.hasOwn(needs, algorithm);

/** More than anybody rotates through; a longer set is refused as a whole. */
const maxKeys = 100;
/** A larger modulus or exponent would only make us work. */
const maxModulusBits = 8_192;
const maxExponentBytes = 8;
const maxKeyIdLength = 512;

export interface OutsideKey {
  readonly keyId: string | undefined;
  readonly kty: string;
  readonly crv: string | undefined;
  readonly alg: string | undefined;
  readonly key: KeyObject;
}

/** Throws when this is no key set, or one of absurd length. */
export function readKeySet(body: Buffer): OutsideKey[] {
  const { keys } = (JSON.parse(body.toString('utf8')) ?? {}) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error('it is no key set: there is no list of keys');
  if (keys.length > maxKeys) throw new Error(`it holds ${keys.length} keys; ${maxKeys} are the most`);
  return keys.flatMap((jwk) => readKey(jwk) ?? []);
}

function readKey(jwk: unknown): OutsideKey | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined;
  const { kty, crv, kid, alg, use, key_ops, n, e, x, y } = jwk as Readonly<Record<string, unknown>>;
  if (use !== undefined && use !== 'sig') return undefined;
  if (Array.isArray(key_ops) && !key_ops.includes('verify')) return undefined;
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > maxKeyIdLength)) return undefined;
  if (alg !== undefined && !isOutsideAlgorithm(alg)) return undefined;
  if (typeof n === 'string' && n.length > maxModulusBits / 4) return undefined;
  try {
    // Its public members alone: whatever else somebody published does not come in.
    const members = { kty, crv, n, e, x, y } as unknown as JsonWebKeyInput['key'];
    const key = createPublicKey({ key: members, format: 'jwk' });
    const sound = key.export({ format: 'jwk' }) as JWK;
    checkSoundness(sound);
    return { keyId: kid, kty: String(sound.kty), crv: sound.crv, alg, key };
  } catch {
    return undefined;
  }
}

function checkSoundness(key: JWK): void {
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

/** The one key that the token must have been signed with. When it names none, or a name is given twice, nobody guesses. */
export function pickKey(
  keys: readonly OutsideKey[],
  { algorithm, keyId }: { algorithm: string; keyId: string | undefined },
): KeyObject | undefined {
  const need = needs[algorithm];
  const fitting = keys.filter(
    ({ kty, crv, alg, keyId: id }) =>
      kty === need?.kty &&
      (need.crv === undefined || crv === need.crv) &&
      (alg === undefined || family(alg) === family(algorithm)) &&
      (keyId === undefined || id === keyId),
  );
  return fitting.length === 1 ? fitting[0]?.key : undefined;
}

/** RFC 9864 gave EdDSA on this curve a second name. */
const family = (algorithm: string) => (algorithm === 'Ed25519' ? 'EdDSA' : algorithm);
