/** Signed statements (compact JWS), checked with Web Crypto: RS256, ES256, and EdDSA where the browser has Ed25519. */
import type { PublicKey } from './evidence.ts';

export const statementTypes = {
  checkpoint: 'audit-checkpoint+jwt',
  treeHead: 'audit-tree-head+jwt',
  key: 'audit-key+jwt',
  anchor: 'audit-anchor+jwt',
} as const;
export type StatementKind = keyof typeof statementTypes;

export type Claims = Readonly<Record<string, unknown>>;

/** This browser cannot check signatures of this algorithm: nothing is known about the log. */
export class UnsupportedAlgorithm extends Error {
  override readonly name = 'UnsupportedAlgorithm';
  readonly algorithm: string;

  constructor(algorithm: string) {
    super(`this browser cannot check ${algorithm} signatures`);
    this.algorithm = algorithm;
  }
}

interface Algorithm {
  readonly name: string;
  readonly importing: { readonly name: string; readonly hash?: string; readonly namedCurve?: string };
  readonly verifying: { readonly name: string; readonly hash?: string };
}

const rs256 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
const algorithms: readonly (Algorithm & { matches(key: PublicKey): boolean })[] = [
  { name: 'RS256', importing: rs256, verifying: rs256, matches: ({ kty }) => kty === 'RSA' },
  {
    name: 'ES256',
    importing: { name: 'ECDSA', namedCurve: 'P-256' },
    verifying: { name: 'ECDSA', hash: 'SHA-256' },
    matches: ({ kty, crv }) => kty === 'EC' && crv === 'P-256',
  },
  {
    name: 'EdDSA',
    importing: { name: 'Ed25519' },
    verifying: { name: 'Ed25519' },
    matches: ({ kty, crv }) => kty === 'OKP' && crv === 'Ed25519',
  },
];

/** The parts of a key that say which key it is. A browser refuses a JWK whose `alg` or `key_ops` it does not expect. */
const keyFields = ['kty', 'crv', 'n', 'e', 'x', 'y'];

type VerifyingKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;
type ImportJwk = (
  format: 'jwk',
  key: object,
  algorithm: object,
  extractable: boolean,
  usages: readonly string[],
) => Promise<VerifyingKey>;

async function importKey(key: PublicKey, { name, importing }: Algorithm): Promise<VerifyingKey> {
  const fields = keyFields.flatMap((field) => (field in key ? [[field, key[field]]] : []));
  try {
    return await (crypto.subtle.importKey as unknown as ImportJwk)(
      'jwk',
      Object.fromEntries(fields),
      importing,
      false,
      ['verify'],
    );
  } catch (error) {
    if ((error as { name?: unknown }).name === 'NotSupportedError') throw new UnsupportedAlgorithm(name);
    throw error;
  }
}

export interface SignatureReader {
  /** The claims of a statement of that kind that one of these keys has signed; otherwise undefined. */
  read(text: string, kind: StatementKind, keys: readonly PublicKey[]): Promise<Claims | undefined>;
  /** How many signatures were valid. */
  checked(): number;
}

/** Imports each key once. */
export function createSignatureReader(): SignatureReader {
  const imported = new WeakMap<PublicKey, Promise<VerifyingKey>>();
  let valid = 0;

  const verifyingKey = (key: PublicKey, algorithm: Algorithm): Promise<VerifyingKey> => {
    const known = imported.get(key);
    if (known) return known;
    const created = importKey(key, algorithm);
    imported.set(key, created);
    return created;
  };

  const verify = async (text: string, kind: StatementKind, keys: readonly PublicKey[]) => {
    const [header, payload, signature, ...more] = text.split('.');
    if (header === undefined || payload === undefined || signature === undefined || more.length > 0)
      return undefined;
    const { alg, kid, typ, crit } = parsePart(header) ?? {};
    const key = keys.find((each) => each.kid === kid);
    const algorithm = key && algorithms.find((each) => each.matches(key));
    if (!algorithm || algorithm.name !== alg || typ !== statementTypes[kind] || crit !== undefined)
      return undefined;
    const bytes = decode(signature);
    if (!bytes) return undefined;
    const isSigned = await crypto.subtle.verify(
      algorithm.verifying,
      await verifyingKey(key, algorithm),
      bytes,
      new TextEncoder().encode(`${header}.${payload}`),
    );
    return isSigned ? parsePart(payload) : undefined;
  };

  return {
    async read(text, kind, keys) {
      try {
        const claims = await verify(text, kind, keys);
        if (claims) valid += 1;
        return claims;
      } catch (error) {
        if (error instanceof UnsupportedAlgorithm) throw error;
        return undefined;
      }
    },
    checked: () => valid,
  };
}

export const keyIdOf = (text: string): unknown => parsePart(text.split('.')[0] ?? '')?.kid;

function parsePart(part: string): Claims | undefined {
  const bytes = decode(part);
  if (!bytes) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? (value as Claims) : undefined;
  } catch {
    return undefined;
  }
}

/** Strictly base64url: the same bytes have one spelling only, because a hash of the text names the statement. */
function decode(part: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]+$/.test(part)) return undefined;
  try {
    const binary = atob(part.replaceAll('-', '+').replaceAll('_', '/'));
    const spelt = btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
    return spelt === part ? Uint8Array.from(binary, (character) => character.charCodeAt(0)) : undefined;
  } catch {
    return undefined;
  }
}
