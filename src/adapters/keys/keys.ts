/** The signer port on `jose`. A token's header can select a key only by the `kid` of one of ours. */
import { createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto';
import {
  type CryptoKey,
  calculateJwkThumbprint,
  compactVerify,
  createLocalJWKSet,
  decodeJwt,
  errors,
  exportJWK,
  importJWK,
  type JWK,
  jwtVerify,
} from 'jose';
import type { Clock } from '../../kernel/clock.ts';
import type {
  Assertions,
  Claims,
  PublicKey,
  ReadAttestation,
  Signer,
  SignerOptions,
} from '../../kernel/ports/signer.ts';
import { algorithmOf, createJwsSigner, encodeHeader, signingAlgorithms } from './algorithms.ts';
import { createSeals } from './seals.ts';

export { createStatementReader } from '../../../sdk/typescript/src/audit/statement-reader.ts';

const algorithmNames = signingAlgorithms.map(({ name }) => name);

export async function createSigner(options: SignerOptions & { clock: Clock }): Promise<Signer> {
  const { privateKey, publicKey, previousPublicKeys, issuer, clock } = options;
  const own = await describe(publicKey);
  const described = [own, ...(await Promise.all(previousPublicKeys.map(describe)))];
  // Nodes may share one list of previous keys, which then contains each node's own key too.
  const byId = new Map(described.map((key) => [key.keyId, key]));
  const publicKeys = [...byId.values()].map(({ jwk }) => jwk);
  const { keyId, algorithm } = own;
  const signJws = createJwsSigner(privateKey, algorithm);
  const headers = new Map<string, string>();
  /** The code has a few types of token only. */
  const headerOf = (typ: string): string => {
    const header = headers.get(typ) ?? encodeHeader({ alg: algorithm.name, typ, kid: keyId });
    headers.set(typ, header);
    return header;
  };

  return {
    keyId,
    algorithm: algorithm.name,
    sign: (claims, typ) => signJws(headerOf(typ), JSON.stringify({ iss: issuer, ...claims })),
    async verify(token, { typ, requiredClaims, allowExpired = false }) {
      if (!isCanonical(token)) return undefined;
      try {
        const { payload } = await jwtVerify(
          token,
          (header) => {
            const key = header.kid === undefined ? undefined : byId.get(header.kid);
            if (!key || !isOurHeader(header) || header.alg !== key.algorithm.name)
              throw new Error('not a token of ours');
            return key.verifyingKey;
          },
          {
            algorithms: algorithmNames,
            typ,
            issuer,
            requiredClaims,
            currentDate: new Date(clock.now()),
          },
        );
        return payload;
      } catch (error) {
        // jose checks `exp` last: everything else is valid.
        return allowExpired && error instanceof errors.JWTExpired ? error.payload : undefined;
      }
    },
    attest: (text, header) => signJws(encodeHeader({ alg: algorithm.name, ...header }), text),
    publicKeys: () => publicKeys,
    ...createSeals(privateKey),
  };
}

export function createAttestationReader(): ReadAttestation {
  const verifyingKeyOf = createKeyImporter();
  return async (attestation, { typ, kid }, key) => {
    try {
      const { payload, protectedHeader } = await compactVerify(attestation, await verifyingKeyOf(key), {
        algorithms: [algorithmOf(key).name],
      });
      const matches = protectedHeader.typ === typ && protectedHeader.kid === kid;
      return matches ? Buffer.from(payload).toString() : undefined;
    } catch {
      return undefined;
    }
  };
}

/** Imports each key once, for its own algorithm only. */
function createKeyImporter(): (key: Claims) => Promise<CryptoKey> {
  const imported = new WeakMap<Claims, Promise<CryptoKey>>();
  return (key) => {
    const known = imported.get(key) ?? (importJWK(key as JWK, algorithmOf(key).name) as Promise<CryptoKey>);
    imported.set(key, known);
    return known;
  };
}

const ourHeaders: ReadonlySet<string> = new Set(['alg', 'typ', 'kid']);

/** Our tokens have no other headers: a token that names a key in another way (`jwk`, `jku`, `x5u`) is not ours. */
const isOurHeader = (header: object): boolean => Object.keys(header).every((name) => ourHeaders.has(name));

/**
 * The same signature bytes have several base64url spellings (padding, unused bits of the last character). Only the canonical one is
 * accepted. The other two parts are signed as text. An ES256 signature (r, s) has a second form, (r, n - s), that also verifies, so
 * the text of a token identifies nothing: revocation and single use go by `jti`.
 */
function isCanonical(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}

async function describe(key: KeyObject) {
  const jwk = await exportJWK(key);
  const algorithm = algorithmOf(jwk);
  if (jwk.kty === 'OKP') checkEdwardsPoint(jwk);
  const keyId = await calculateJwkThumbprint(jwk);
  const verifyingKey = key.toCryptoKey(algorithm.webCrypto, false, ['verify']);
  const published = { ...jwk, alg: algorithm.name, use: 'sig', kid: keyId } satisfies PublicKey;
  return { verifyingKey, algorithm, keyId, jwk: published };
}

/** One of our keys as its JWKS entry. */
export const describePublicKey = async (key: KeyObject): Promise<PublicKey> => (await describe(key)).jwk;

/** Five minutes, and 30 s of clock skew. */
const maxAssertionSeconds = 300 + 30;

/** Those of rfc7523bis, and without an own type those of RFC 7519. */
const assertionTypes: ReadonlySet<unknown> = new Set([undefined, 'client-authentication+jwt', 'jwt', 'jose']);

/** One audience only: another server that an assertion also named could present it here. */
const isOnlyAudience = (aud: string | string[] | undefined, audiences: readonly string[]): boolean => {
  const [only, ...others] = [aud].flat();
  return only !== undefined && others.length === 0 && audiences.includes(only);
};

export const createAssertions = (clock: Clock): Assertions => ({
  unverifiedClient(assertion) {
    try {
      const { sub } = decodeJwt(assertion);
      // Unverified, so it can be of any type, unlike the library's type.
      return typeof sub === 'string' ? sub : undefined;
    } catch {
      return undefined;
    }
  },
  async verify(assertion, keys, { client, audiences }) {
    const now = clock.now();
    try {
      const local = createLocalJWKSet({ keys: keys as unknown as JWK[] });
      const { payload, protectedHeader, key } = await jwtVerify(assertion, local, {
        algorithms: [...assertionAlgorithms],
        issuer: client,
        subject: client,
        requiredClaims: ['iss', 'sub', 'aud', 'exp', 'jti'],
        currentDate: new Date(now),
      });
      if (!isOnlyAudience(payload.aud, audiences)) return undefined;
      if (!assertionTypes.has(protectedHeader.typ?.toLowerCase().replace(/^application\//, '')))
        return undefined;
      const { jti, exp = 0 } = payload;
      if (typeof jti !== 'string' || jti === '' || jti.length > 256) return undefined;
      // PostgreSQL cannot store these unchanged, so replays could not be detected.
      if (jti.includes('\0') || !jti.isWellFormed()) return undefined;
      if (exp * 1000 > now + maxAssertionSeconds * 1000) return undefined;
      const keyId = await calculateJwkThumbprint(key);
      return { assertionId: jti, expiresAt: new Date(exp * 1000), keyId };
    } catch {
      return undefined;
    }
  },
});

interface KeyKind {
  readonly fields: readonly string[];
  readonly algorithms: readonly string[];
  readonly curves?: readonly string[];
}

const rsaAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const keyKinds: Readonly<Record<string, KeyKind>> = {
  RSA: { fields: ['n', 'e'], algorithms: rsaAlgorithms },
  EC: { fields: ['crv', 'x', 'y'], algorithms: ['ES256', 'ES384'], curves: ['P-256', 'P-384'] },
  OKP: { fields: ['crv', 'x'], algorithms: ['EdDSA', 'Ed25519'], curves: ['Ed25519'] },
};
export const assertionAlgorithms: readonly string[] = Object.values(keyKinds).flatMap(
  ({ algorithms }) => algorithms,
);
const commonFields = ['kty', 'kid', 'use', 'alg', 'key_ops'];

/** Validates a public key of another party before it is stored, and adds a `kid` if it has none. */
export async function readPublicKey<K extends JWK>(key: K): Promise<K & { kid: string }> {
  const kty = String(key.kty);
  const kind = Object.hasOwn(keyKinds, kty) ? keyKinds[kty] : undefined;
  if (!kind) throw new Error(`is of type ${kty}; RSA, EC and OKP can be used`);
  const missing = kind.fields.filter((field) => key[field as keyof JWK] === undefined);
  if (missing.length > 0) throw new Error(`lacks ${missing.join(', ')}, which a key of type ${kty} has`);
  const foreign = Object.keys(key).filter((field) => ![...kind.fields, ...commonFields].includes(field));
  if (foreign.length > 0) throw new Error(`has ${foreign.join(', ')}, which a key of type ${kty} has not`);
  if (kind.curves && !kind.curves.includes(String(key.crv)))
    throw new Error(`must be on the curve ${kind.curves.join(' or ')}`);
  if (key.alg !== undefined && !kind.algorithms.includes(key.alg)) {
    throw new Error(
      `cannot be used with ${key.alg}; ${kind.algorithms.join(', ')} go with a key of type ${kty}`,
    );
  }
  if (kty === 'EC' && key.alg !== undefined && (key.alg === 'ES256') !== (key.crv === 'P-256')) {
    throw new Error(`cannot be used with ${key.alg} on the curve ${key.crv}`);
  }
  const jwk = reExport(key);
  const nonCanonical = kind.fields.filter((field) => jwk[field as keyof JWK] !== key[field as keyof JWK]);
  if (nonCanonical.length > 0)
    throw new Error(`has ${nonCanonical.join(', ')} in a spelling that is not canonical base64url`);
  if (kty === 'RSA') checkRsaNumbers(jwk);
  if (kty === 'OKP') checkEdwardsPoint(jwk);
  return { ...key, kid: key.kid ?? (await calculateJwkThumbprint(key)) };
}

export const importPublicKey = (key: JWK): KeyObject =>
  createPublicKey({ key: key as JsonWebKeyInput['key'], format: 'jwk' });

/** Normalizes the key: trailing characters of the base64url and leading zeros are lost, which shows a non-canonical spelling. */
function reExport(key: JWK): JWK {
  try {
    return importPublicKey(key).export({ format: 'jwk' }) as JWK;
  } catch {
    throw new Error('is not a readable public key');
  }
}

/** With an exponent of 1, or an even modulus or exponent, signatures can be forged. */
export function checkRsaNumbers({ n, e }: JWK): void {
  const modulus = toBigInt(n);
  const exponent = toBigInt(e);
  const bits = modulus.toString(2).length;
  if (bits < 2048) throw new Error(`has ${bits} bits; RSA keys need at least 2048`);
  if (modulus % 2n === 0n || exponent % 2n === 0n || exponent < 3n) throw new Error('is not a sound RSA key');
}

const toBigInt = (text: string | undefined) =>
  BigInt(`0x${Buffer.from(text ?? '', 'base64url').toString('hex') || '0'}`);

/** The points of small order, without their sign bit: signatures under such a key can be forged. */
const smallOrderPoints: ReadonlySet<string> = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
]);

export function checkEdwardsPoint({ x }: JWK): void {
  const bytes = Buffer.from(x ?? '', 'base64url');
  bytes[31] = (bytes[31] ?? 0) & 0x7f;
  if (smallOrderPoints.has(bytes.toString('hex'))) throw new Error('is not a sound Ed25519 key');
}
