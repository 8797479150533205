/**
 * The X25519 key that belongs to an Ed25519 key, as RFC 7748 §4.1 maps the curves onto each other. Ed25519 keys can only sign. With
 * this key the holder can also decrypt, and the sender needs no other public key than the published one.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

const prime = 2n ** 255n - 19n;

/** `x` of the Ed25519 key as a JWK. */
export const x25519PublicKey = (x: string): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: montgomeryU(x) }, format: 'jwk' });

/** `d` and `x` of the Ed25519 key as a JWK. The scalar is the one that Ed25519 computes from its seed (RFC 8032 §5.1.5). */
export function x25519PrivateKey(d: string, x: string): KeyObject {
  const seed = Buffer.from(d, 'base64url');
  const scalar = createHash('sha512').update(seed).digest().subarray(0, 32);
  const jwk = { kty: 'OKP', crv: 'X25519', d: scalar.toString('base64url'), x: montgomeryU(x) };
  return createPrivateKey({ key: jwk, format: 'jwk' });
}

/** u = (1 + y) / (1 - y). The sign of the Edwards point, its highest bit, has no influence on u. */
function montgomeryU(x: string): string {
  const bytes = Buffer.from(x, 'base64url').reverse();
  const y = BigInt(`0x${bytes.toString('hex')}`) & (2n ** 255n - 1n);
  const u = modulo((1n + y) * inverse(modulo(1n - y)));
  return Buffer.from(u.toString(16).padStart(64, '0'), 'hex').reverse().toString('base64url');
}

const modulo = (value: bigint): bigint => ((value % prime) + prime) % prime;

/** Fermat: a^(p-2). Public numbers only, so the time may depend on them. */
function inverse(value: bigint): bigint {
  let result = 1n;
  let power = value;
  for (let exponent = prime - 2n; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = modulo(result * power);
    power = modulo(power * power);
  }
  return result;
}
