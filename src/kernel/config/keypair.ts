/** The signing key pair, checked at start: RSA of at least 2048 bits, and the public key matches the private key. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const minimumBits = 2048;

/** PEM text with line breaks, or with `\n` written out, as environments carry it. */
const pemText = (text: string) => text.replaceAll('\\n', '\n').trim();

export function parsePrivateKey(text: string): KeyObject {
  return checkRsa(
    readKey(() => createPrivateKey(pemText(text)), 'private'),
    'private',
  );
}

export function parsePublicKey(text: string): KeyObject {
  if (text.includes('PRIVATE KEY')) throw new Error('holds a private key; give the public half');
  return checkRsa(
    readKey(() => createPublicKey(pemText(text)), 'public'),
    'public',
  );
}

/** Several PEM blocks one after the other. */
export function parsePublicKeys(text: string): KeyObject[] {
  const blocks = pemText(text).match(/-----BEGIN [^-]+-----[\s\S]+?-----END [^-]+-----/g);
  if (!blocks) throw new Error('holds no PEM block');
  return blocks.map(parsePublicKey);
}

export const keysMatch = ({ privateKey, publicKey }: KeyPair): boolean =>
  createPublicKey(privateKey).equals(publicKey);

export function generateKeyPair(): { privatePem: string; publicPem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: minimumBits });
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

function checkRsa(key: KeyObject, half: string): KeyObject {
  if (key.asymmetricKeyType !== 'rsa')
    throw new Error(`is of type ${key.asymmetricKeyType}; RS256 needs an RSA ${half} key`);
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < minimumBits)
    throw new Error(`is an RSA key of ${bits} bits; at least ${minimumBits} are needed`);
  return key;
}
