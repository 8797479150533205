/**
 * The port for proofs of possession (RFC 9449 §4.3). The key comes with the proof, so it proves only that its holder has sent the
 * request. It is imported once: the header of all proofs by a key is usually the same text, and the cache has it as its key.
 */
import { hash, type KeyObject, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { limits } from '../../contract/limits.ts';
import type { Clock } from '../../kernel/clock.ts';
import { createLru } from '../../kernel/data/lru.ts';
import { readJson } from '../../kernel/http/input/body.ts';
import {
  type ExpectedProof,
  isProofRefusal,
  type Possession,
  type ProofRefusal,
  proofRefusal,
  type VerifiedProof,
} from '../../kernel/ports/possession.ts';
import type { Claims } from '../../kernel/ports/signer.ts';
import { createNonces, type NonceProblem } from './dpop-nonces.ts';
import { importPublicKey, assertionAlgorithms as proofAlgorithms, readPublicKey } from './keys.ts';
import { type VerifyOptions, verifyOptionsOf } from './verify-options.ts';

/** RSA keys of 8,192 bits fit. */
const maxLength = 8 * 1024;
const maxIdLength = 256;
const maxExponentLength = 16;
/** The cached headers together, in characters. */
const maxCachedText = 8 * 1024 * 1024;
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

interface ProofKey {
  readonly key: KeyObject;
  readonly options: VerifyOptions;
  readonly thumbprint: string;
  readonly header: string;
}

const verifySignature = promisify(verify);

export function createPossession(deps: {
  readonly clock: Clock;
  readonly privateKey: KeyObject;
  /** Whether a proof must have a nonce of ours. */
  readonly requireNonce: boolean;
}): Possession {
  const { clock, requireNonce } = deps;
  const nonces = createNonces(deps);
  const keys = createLru<ProofKey>(maxCachedText, ({ header }) => header.length);

  const nonceProblem = (nonce: unknown): NonceProblem | undefined => {
    if (nonce !== undefined) return nonces.problemOf(nonce);
    return requireNonce ? 'missing' : undefined;
  };

  return {
    algorithms: proofAlgorithms,
    nonce: nonces.current,

    async verify(proof, expected) {
      if (proof.includes(',')) return proofRefusal('the header DPoP must be given once');
      if (proof.length > maxLength) return proofRefusal('the proof is too long');
      const [header = '', payload = '', signature = '', ...more] = proof.split('.');
      if (more.length > 0 || !isCanonical(signature)) return proofRefusal('the proof is no signed JWT');
      const proofKey = keys.get(header) ?? (await readHeader(header));
      if (isProofRefusal(proofKey)) return proofKey;
      const claims = readPart(payload);
      if (!claims) return proofRefusal('the proof is no signed JWT');
      const problem = claimsProblem(claims, proofKey, expected, clock.now());
      if (problem !== undefined) return proofRefusal(problem);
      const isSigned = await verifySignature(
        proofKey.options.digest,
        Buffer.from(proof.slice(0, header.length + 1 + payload.length)),
        { key: proofKey.key, ...proofKey.options.key },
        Buffer.from(signature, 'base64url'),
      );
      if (!isSigned) return proofRefusal('the signature of the proof is wrong');
      // Only a holder of the private key puts its header into the cache.
      if (!keys.get(header)) keys.set(header, proofKey);
      // Last: a nonce is given to clients whose proof is good otherwise.
      const ofNonce = nonceProblem(claims.nonce);
      return ofNonce === undefined ? verified(proofKey, String(claims.jti)) : nonceRefusals[ofNonce];
    },
  };
}

const nonceRefusals: Readonly<Record<NonceProblem, ProofRefusal>> = {
  missing: { error: 'use_dpop_nonce', reason: 'the proof needs the nonce of the header DPoP-Nonce' },
  old: { error: 'use_dpop_nonce', reason: 'the nonce of the proof has expired' },
  unknown: { error: 'use_dpop_nonce', reason: 'the nonce of the proof is not a current one of this server' },
  malformed: proofRefusal('the nonce of the proof is not one of this server'),
};

const verified = ({ thumbprint }: ProofKey, jti: string): VerifiedProof => ({
  thumbprint,
  proofId: hash('sha256', `${thumbprint}.${jti}`).slice(0, 32),
});

async function readHeader(text: string): Promise<ProofKey | ProofRefusal> {
  const header = readPart(text);
  if (!header) return proofRefusal('the proof is no signed JWT');
  const { typ, alg, jwk, crit } = header;
  if (typ !== 'dpop+jwt') return proofRefusal('the typ of the proof must be dpop+jwt');
  if (crit !== undefined) return proofRefusal('the proof has a critical header that is not known');
  const options = typeof alg === 'string' && proofAlgorithms.includes(alg) ? verifyOptionsOf(alg) : undefined;
  if (!options) return proofRefusal(`the alg of the proof must be one of ${proofAlgorithms.join(', ')}`);
  if (typeof jwk !== 'object' || jwk === null || Array.isArray(jwk))
    return proofRefusal('the proof has no jwk in its header');
  if (privateMembers.some((member) => member in jwk))
    return proofRefusal('the jwk of the proof must have no private members');
  const { kty, crv, x, y, n, e } = jwk as JWK;
  if (typeof e === 'string' && e.length > maxExponentLength)
    return proofRefusal('the jwk of the proof is not usable: it has a huge exponent');
  const members = Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined);
  const publicJwk = Object.fromEntries(members) as unknown as JWK;
  try {
    await readPublicKey({ ...publicJwk, alg: String(alg) });
    const thumbprint = await calculateJwkThumbprint(publicJwk);
    return { key: importPublicKey(publicJwk), options, thumbprint, header: text };
  } catch (error) {
    return proofRefusal(`the jwk of the proof ${(error as Error).message}`);
  }
}

/** Undefined when all are as they must be. */
function claimsProblem(
  { jti, htm, htu, iat, exp, nbf, ath }: Claims,
  { thumbprint: ownThumbprint }: ProofKey,
  { method, url, accessToken, thumbprint }: ExpectedProof,
  now: number,
): string | undefined {
  if (typeof jti !== 'string' || jti === '' || jti.length > maxIdLength)
    return `the proof needs a jti of 1 to ${maxIdLength} characters`;
  if (htm !== method) return `the htm of the proof must be ${method}`;
  if (typeof htu !== 'string' || !isSameAddress(htu, url)) return `the htu of the proof must be ${url}`;
  const seconds = now / 1_000;
  if (typeof iat !== 'number' || Math.abs(iat - seconds) > limits.proofSeconds)
    return `the iat of the proof must be at most ${limits.proofSeconds} seconds from now`;
  if (exp !== undefined && !(typeof exp === 'number' && exp > seconds)) return 'the proof has expired';
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= seconds + limits.proofSeconds))
    return 'the proof is not valid yet';
  if (thumbprint !== undefined && thumbprint !== ownThumbprint)
    return 'the proof is by another key than the access token is bound to';
  if (accessToken !== undefined && ath !== hash('sha256', accessToken, 'base64url'))
    return 'the ath of the proof must be the hash of the access token';
  return undefined;
}

/** The URL parser also reads what is no URI, such as backslashes. A `htu` has no query, fragment or credentials. */
const addressForm = /^https?:\/\/[\w.[\]:-]+(?:\/[!-"$->@-[\]-~]*)?$/i;

/** RFC 3986 §6.2.2 and §6.2.3. */
function isSameAddress(htu: string, url: string): boolean {
  if (htu === url) return true;
  if (!addressForm.test(htu) || !URL.canParse(htu) || !URL.canParse(url)) return false;
  return normalized(htu) === normalized(url);
}

const normalized = (address: string): string => {
  const { origin, pathname } = new URL(address);
  return origin + pathname.replace(/%[0-9a-f]{2}/gi, normalizedEscape);
};

const normalizedEscape = (escaped: string): string => {
  const char = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
  return /[\w.~-]/.test(char) ? char : escaped.toUpperCase();
};

function readPart(text: string): Claims | undefined {
  if (!/^[\w-]+$/.test(text)) return undefined;
  try {
    // readJson also refuses deep nesting, NUL, lone surrogates and duplicate members.
    const value = readJson(Buffer.from(text, 'base64url'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Claims)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The same signature has several spellings in base64url. */
const isCanonical = (signature: string): boolean =>
  signature !== '' && Buffer.from(signature, 'base64url').toString('base64url') === signature;
