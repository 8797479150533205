/** The signer port on `jose`. Nothing in a token's header can choose a key by anything but the id of one we hold. */
import { createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, type JWK, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../kernel/clock.ts';
import type { Signer, SignerOptions } from '../kernel/signer.ts';

const algorithm = 'RS256';

export async function createSigner(options: SignerOptions & { clock: Clock }): Promise<Signer> {
  const { privateKey, publicKey, previousPublicKeys, issuer, clock } = options;
  const keys = await Promise.all([publicKey, ...previousPublicKeys].map(describe));
  const byId = new Map(keys.map((key) => [key.keyId, key.key]));
  const keyId = keys[0]?.keyId as string;

  return {
    keyId,
    sign: (claims, typ) =>
      new SignJWT({ iss: issuer, ...claims })
        .setProtectedHeader({ alg: algorithm, typ, kid: keyId })
        .sign(privateKey),
    async verify(token, { typ, audience, requiredClaims }) {
      if (!isOneSpelling(token)) return undefined;
      try {
        const { payload } = await jwtVerify(
          token,
          ({ kid }) => {
            const key = kid === undefined ? undefined : byId.get(kid);
            if (!key) throw new Error('not a key of ours');
            return key;
          },
          {
            algorithms: [algorithm],
            typ,
            issuer,
            audience,
            requiredClaims,
            currentDate: new Date(clock.now()),
          },
        );
        return payload;
      } catch {
        return undefined;
      }
    },
    publicKeys: () => keys.map((key) => key.jwk),
  };
}

/**
 * The same signature bytes can be written in several ways (padding, unused bits of the last character); only ours is
 * taken, so that a token has one text. The other two parts are signed as text.
 */
function isOneSpelling(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}

async function describe(key: KeyObject) {
  const jwk = await exportJWK(key);
  const keyId = await calculateJwkThumbprint(jwk);
  return { key, keyId, jwk: { ...jwk, alg: algorithm, use: 'sig', kid: keyId } };
}

const fieldsOf: Readonly<Record<string, readonly string[]>> = {
  RSA: ['n', 'e'],
  EC: ['crv', 'x', 'y'],
  OKP: ['crv', 'x'],
};
const curvesOf: Readonly<Record<string, readonly string[]>> = { EC: ['P-256', 'P-384'], OKP: ['Ed25519'] };

/** Somebody else's public key, for verification later: read once to see that it is one, and given a `kid` if it has none. */
export async function readPublicKey<K extends JWK>(key: K): Promise<K & { kid: string }> {
  const kty = String(key.kty);
  const missing = (fieldsOf[kty] ?? []).filter((field) => key[field as keyof JWK] === undefined);
  if (missing.length > 0) throw new Error(`lacks ${missing.join(', ')}, which a key of type ${kty} has`);
  const curves = curvesOf[kty];
  if (curves && !curves.includes(String(key.crv)))
    throw new Error(`must be on the curve ${curves.join(' or ')}`);
  const bits = readKeyBits(key);
  if (kty === 'RSA' && bits < 2048) throw new Error(`has ${bits} bits; RSA keys need at least 2048`);
  return { ...key, kid: key.kid ?? (await calculateJwkThumbprint(key)) };
}

function readKeyBits(key: JWK): number {
  try {
    return (
      createPublicKey({ key: key as JsonWebKeyInput['key'], format: 'jwk' }).asymmetricKeyDetails
        ?.modulusLength ?? 0
    );
  } catch {
    throw new Error('is not a readable public key');
  }
}
