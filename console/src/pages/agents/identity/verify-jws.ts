/** Checks a JSON Web Signature with Web Crypto. */

export interface PublishedKey {
  /** The DID URL of the verification method: the `kid` of our signatures. */
  readonly id: string;
  readonly publicKeyJwk: JsonWebKey;
}

interface JwsHeader {
  readonly alg?: string;
  readonly kid?: string;
  readonly typ?: string;
  readonly crit?: unknown;
}

type KeyAlgorithmParameters = Parameters<SubtleCrypto['importKey']>[2];
type VerifyParameters = Parameters<SubtleCrypto['verify']>[0];

/** By the key's type and curve: the key decides the algorithm, not the header. */
const algorithms: Readonly<
  Record<string, { name: string; key: KeyAlgorithmParameters; verify: VerifyParameters }>
> = {
  RSA: {
    name: 'RS256',
    key: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    verify: { name: 'RSASSA-PKCS1-v1_5' },
  },
  'EC P-256': {
    name: 'ES256',
    key: { name: 'ECDSA', namedCurve: 'P-256' },
    verify: { name: 'ECDSA', hash: 'SHA-256' },
  },
  'OKP Ed25519': { name: 'EdDSA', key: { name: 'Ed25519' }, verify: { name: 'Ed25519' } },
};

function bytesOfBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

export const textOfBase64Url = (text: string): string => new TextDecoder().decode(bytesOfBase64Url(text));

export function base64UrlOfText(text: string): string {
  const binary = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export const readHeader = (encoded: string): JwsHeader => JSON.parse(textOfBase64Url(encoded)) as JwsHeader;

/** Web Crypto exists on https:// and on localhost only. */
export const canVerify = (): boolean => globalThis.crypto?.subtle !== undefined;

/** True when `signature` is of `header.payload` by this key. Throws for another type, a critical extension or an unknown algorithm. */
export async function verifySignature(
  { header, payload, signature, typ }: { header: string; payload: string; signature: string; typ: string },
  { publicKeyJwk }: PublishedKey,
): Promise<boolean> {
  const { alg = '', typ: actualTyp, crit } = readHeader(header);
  // Only the members of the key itself: `use` and `key_ops` would limit the import.
  const { kty, crv, x, y, n, e } = publicKeyJwk;
  const algorithm = algorithms[crv === undefined ? `${kty}` : `${kty} ${crv}`];
  if (algorithm === undefined || algorithm.name !== alg)
    throw new Error(`The algorithm ${alg} is unknown to this page, or not that of the key.`);
  if (actualTyp !== typ) throw new Error(`The signature is of the type ${actualTyp}, not ${typ}.`);
  if (crit !== undefined)
    throw new Error('The signature has a critical extension, which this page does not know.');
  const members = Object.entries({ kty, crv, x, y, n, e }).filter(([, member]) => member !== undefined);
  const jwk = Object.fromEntries(members) as JsonWebKey;
  const key = await crypto.subtle.importKey('jwk', jwk, algorithm.key, false, ['verify']);
  const signed = new TextEncoder().encode(`${header}.${payload}`);
  return crypto.subtle.verify(algorithm.verify, key, bytesOfBase64Url(signature), signed);
}
