/** The signing key pair, checked at start: its kind is allowed, and the public key matches the private key. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const minimumBits = 2048;

/** The kind decides the algorithm of every signature: RS256, ES256, EdDSA. */
export type KeyKind = 'rsa' | 'p-256' | 'ed25519';

const generators: Readonly<Record<KeyKind, () => KeyPair>> = {
  rsa: () => generateKeyPairSync('rsa', { modulusLength: minimumBits }),
  'p-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ed25519: () => generateKeyPairSync('ed25519'),
};
export const keyKinds = Object.keys(generators) as readonly KeyKind[];

const allowed = `RSA of at least ${minimumBits} bits (RS256), EC on the curve P-256 (ES256) and Ed25519 (EdDSA) are allowed`;

/** PEM text with line breaks, or with `\n` written out, as environments carry it. */
const pemText = (text: string) => text.replaceAll('\\n', '\n').trim();

export function parsePrivateKey(text: string): KeyObject {
  // PKCS#8, or the older form of `openssl genrsa -aes256 -traditional`.
  if (/BEGIN ENCRYPTED PRIVATE KEY|^Proc-Type: 4,ENCRYPTED/m.test(pemText(text)))
    throw new Error(
      'is an encrypted private key; decrypt it first: openssl pkey -in key.pem -out decrypted.pem',
    );
  return checkKind(readKey(() => createPrivateKey(pemText(text)), 'private'));
}

/** The key of the instance log: the formats of transparency logs know no other kind. */
export function parseLogKey(text: string): KeyObject {
  const key = parsePrivateKey(text);
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new Error('is no Ed25519 key; make one with: countersign keys --kind ed25519');
}

export function parsePublicKey(text: string): KeyObject {
  if (text.includes('PRIVATE KEY')) throw new Error('holds a private key; give the public half');
  return checkKind(readKey(() => createPublicKey(pemText(text)), 'public'));
}

/** Several PEM blocks one after the other. */
export function parsePublicKeys(text: string): KeyObject[] {
  const blocks = pemText(text).match(/-----BEGIN [^-]+-----[\s\S]+?-----END [^-]+-----/g);
  if (!blocks) throw new Error('holds no PEM block');
  return blocks.map(parsePublicKey);
}

export const keysMatch = ({ privateKey, publicKey }: KeyPair): boolean =>
  createPublicKey(privateKey).equals(publicKey);

export function generateKeyPair(kind: KeyKind = 'rsa'): { privatePem: string; publicPem: string } {
  const { privateKey, publicKey } = generators[kind]();
  return {
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

function readKey(read: () => KeyObject, half: string): KeyObject {
  try {
    return read();
  } catch {
    throw new Error(`is not a ${half} key in PEM form (make a pair with: countersign keys)`);
  }
}

function checkKind(key: KeyObject): KeyObject {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      if (modulusLength >= minimumBits) return key;
      throw new Error(`is an RSA key of ${modulusLength} bits; ${allowed}`);
    case 'ec':
      // OpenSSL's name of P-256.
      if (namedCurve === 'prime256v1') return key;
      throw new Error(`is an EC key on the curve ${namedCurve ?? 'without a name'}; ${allowed}`);
    case 'ed25519':
      return key;
    default:
      throw new Error(`is of type ${key.asymmetricKeyType}; ${allowed}`);
  }
}
