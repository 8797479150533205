/** Signed statements (compact JWS), checked with Web Crypto: RS256, ES256, and EdDSA where the platform has Ed25519. */
import { decode, parsePart } from './compact-jws.ts';
import type { Claims, PublicKey, ReadStatement } from './statements.ts';

/** This platform cannot check signatures of this algorithm: nothing is known about the log. */
export class UnsupportedAlgorithm extends Error {
  override readonly name = 'UnsupportedAlgorithm';
  readonly algorithm: string;

  constructor(algorithm: string) {
    super(`cannot check ${algorithm} signatures`);
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

/** The parts of a key that say which key it is. Web Crypto refuses a JWK whose `alg` or `key_ops` it does not expect. */
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

/**
 * Imports each key once, for its own algorithm only: `alg` of the statement does not choose it. Throws an UnsupportedAlgorithm when
 * the platform cannot verify.
 */
export function createStatementReader(): ReadStatement {
  const imported = new WeakMap<PublicKey, Promise<VerifyingKey>>();

  const verifyingKey = (key: PublicKey, algorithm: Algorithm): Promise<VerifyingKey> => {
    const known = imported.get(key) ?? importKey(key, algorithm);
    imported.set(key, known);
    return known;
  };

  const verify = async (text: string, type: string, keys: readonly PublicKey[]) => {
    const [header, payload, signature, ...more] = text.split('.');
    if (header === undefined || payload === undefined || signature === undefined || more.length > 0)
      return undefined;
    const { alg, kid, typ, crit } = parsePart(text, 0) ?? {};
    const key = keys.find((each) => each.kid === kid);
    const algorithm = key && algorithms.find((each) => each.matches(key));
    if (!algorithm || algorithm.name !== alg || typ !== type || crit !== undefined) return undefined;
    const bytes = decode(signature);
    if (!bytes) return undefined;
    const isSigned = await crypto.subtle.verify(
      algorithm.verifying,
      await verifyingKey(key, algorithm),
      bytes,
      new TextEncoder().encode(`${header}.${payload}`),
    );
    return isSigned ? (parsePart(text, 1) as Claims | undefined) : undefined;
  };

  return async (text, type, keys) => {
    try {
      return await verify(text, type, keys);
    } catch (error) {
      if (error instanceof UnsupportedAlgorithm) throw error;
      return undefined;
    }
  };
}
