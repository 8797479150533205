/** Proofs of possession (DPoP, RFC 9449) as a client signs them, and with any part changed. */
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import type { TestApp } from '../harness.ts';

export const issuer = 'http://countersign.test';
export const tokenAddress = `${issuer}/api/v1/token`;

export interface ProofParts {
  readonly header?: Record<string, unknown>;
  readonly claims?: Record<string, unknown>;
  /** Signs instead of the key in the header. */
  readonly signedBy?: CryptoKey;
}

export interface Prover {
  readonly jkt: string;
  readonly jwk: JWK;
  readonly privateKey: CryptoKey;
  /** By default for POST /token. `undefined` as a value leaves a header or claim out. */
  proof(parts?: ProofParts): Promise<string>;
  /** The headers of a request to our API with a token that is bound to the key. */
  headers(
    token: string,
    method: string,
    path: string,
    parts?: ProofParts,
  ): Promise<{ authorization: string; dpop: string }>;
}

export const hashOfToken = (token: string): string => createHash('sha256').update(token).digest('base64url');

export async function createProver({ clock }: Pick<TestApp, 'clock'>, alg = 'ES256'): Promise<Prover> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  const proof: Prover['proof'] = ({ header, claims, signedBy = privateKey } = {}) =>
    new SignJWT({
      jti: randomUUID(),
      htm: 'POST',
      htu: tokenAddress,
      iat: Math.floor(clock.now() / 1_000),
      ...claims,
    })
      .setProtectedHeader({ typ: 'dpop+jwt', alg, jwk, ...header })
      .sign(signedBy);
  return {
    jkt: await calculateJwkThumbprint(jwk),
    jwk,
    privateKey,
    proof,
    headers: async (token, htm, path, { claims, ...parts } = {}) => ({
      authorization: `DPoP ${token}`,
      dpop: await proof({
        ...parts,
        claims: { htm, htu: `${issuer}${path}`, ath: hashOfToken(token), ...claims },
      }),
    }),
  };
}

export const clientForm = (client: { clientId: string; clientSecret: string }) => ({
  grant_type: 'client_credentials',
  client_id: client.clientId,
  client_secret: client.clientSecret,
});

interface Mutation {
  readonly what: string;
  /** The proof to send; `base` are the claims that make it valid. */
  make(prover: Prover, base: Record<string, unknown>): Promise<string>;
  /** By default `invalid_dpop_proof`. */
  readonly error?: 'use_dpop_nonce';
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const decode = (part: string | undefined) => JSON.parse(Buffer.from(part ?? '', 'base64url').toString());

const withClaims = (what: string, claims: (base: Record<string, unknown>) => object): Mutation => ({
  what,
  make: (prover, base) => prover.proof({ claims: { ...base, ...claims(base) } }),
});
const withHeader = (what: string, header: (prover: Prover) => object): Mutation => ({
  what,
  make: (prover, claims) => prover.proof({ claims, header: { ...header(prover) } }),
});
const withText = (what: string, change: (proof: string) => string): Mutation => ({
  what,
  make: async (prover, claims) => change(await prover.proof({ claims })),
});
const parts = (change: (header: string, payload: string, signature: string) => string) => (proof: string) => {
  const [header = '', payload = '', signature = ''] = proof.split('.');
  return change(header, payload, signature);
};

/** Every change of a valid proof that makes it invalid, at every endpoint. The clock of the prover says the time. */
export const proofMutations = ({ clock }: Pick<TestApp, 'clock'>): readonly Mutation[] => {
  const seconds = () => Math.floor(clock.now() / 1_000);
  return [
    withClaims('no jti', () => ({ jti: undefined })),
    withClaims('an empty jti', () => ({ jti: '' })),
    withClaims('a jti that is a number', () => ({ jti: 1 })),
    withClaims('a jti of 257 characters', () => ({ jti: 'x'.repeat(257) })),
    withClaims('a jti with NUL', () => ({ jti: 'a\0b' })),
    withClaims('a jti with a lone surrogate', () => ({ jti: 'a\ud800' })),
    withClaims('no htm', () => ({ htm: undefined })),
    withClaims('another htm', () => ({ htm: 'DELETE' })),
    withClaims('htm in lower case', ({ htm }) => ({ htm: String(htm).toLowerCase() })),
    withClaims('no htu', () => ({ htu: undefined })),
    withClaims('htu as a list', ({ htu }) => ({ htu: [htu] })),
    withClaims('htu with a query', ({ htu }) => ({ htu: `${htu}?a=1` })),
    withClaims('htu with a fragment', ({ htu }) => ({ htu: `${htu}#a` })),
    withClaims('htu with a slash at its end', ({ htu }) => ({ htu: `${htu}/` })),
    withClaims('htu of another host', ({ htu }) => ({ htu: String(htu).replace('//', '//evil.') })),
    withClaims('htu with another scheme', ({ htu }) => ({
      htu: String(htu).replace(/^https?/, (scheme) => (scheme === 'http' ? 'https' : 'http')),
    })),
    withClaims('htu with credentials', ({ htu }) => ({ htu: String(htu).replace('//', '//me@') })),
    withClaims('htu with another port', ({ htu }) => ({
      htu: Object.assign(new URL(String(htu)), { port: '81' }).href,
    })),
    withClaims('htu with backslashes', ({ htu }) => ({ htu: String(htu).replaceAll('/', '\\') })),
    withClaims('htu with one slash before the host', ({ htu }) => ({ htu: String(htu).replace('//', '/') })),
    withClaims('htu with a full-width letter in its host', ({ htu }) => ({
      htu: String(htu).replace(/(?<=\/\/)[a-z]/, (letter) =>
        String.fromCharCode(letter.charCodeAt(0) + 0xfee0),
      ),
    })),
    withClaims('htu without host', ({ htu }) => ({ htu: new URL(String(htu)).pathname })),
    withClaims('htu of another path', ({ htu }) => ({ htu: `${htu}/../other` })),
    withClaims('no iat', () => ({ iat: undefined })),
    withClaims('iat as a text', () => ({ iat: String(seconds()) })),
    withClaims('an iat of 302 seconds ago', () => ({ iat: seconds() - 302 })),
    withClaims('an iat in 302 seconds', () => ({ iat: seconds() + 302 })),
    withClaims('iat in milliseconds', () => ({ iat: clock.now() })),
    withClaims('an exp that is over', () => ({ exp: seconds() - 1 })),
    withClaims('an nbf in 302 seconds', () => ({ nbf: seconds() + 302 })),
    withClaims('a nonce that is not ours', () => ({ nonce: 'mine' })),
    withClaims('a nonce that is a number', () => ({ nonce: 1 })),
    withClaims('an empty nonce', () => ({ nonce: '' })),
    {
      ...withClaims('a nonce with our form and another MAC', () => ({ nonce: 'A'.repeat(28) })),
      error: 'use_dpop_nonce',
    },
    withHeader('no typ', () => ({ typ: undefined })),
    withHeader('typ JWT', () => ({ typ: 'JWT' })),
    withHeader('typ of an access token', () => ({ typ: 'at+jwt' })),
    withHeader('no jwk', () => ({ jwk: undefined })),
    withHeader('jwk as a text', ({ jwk }) => ({ jwk: JSON.stringify(jwk) })),
    withHeader('a kid instead of the jwk', ({ jkt }) => ({ jwk: undefined, kid: jkt })),
    {
      what: 'a private jwk',
      make: async (prover, claims) =>
        prover.proof({ claims, header: { jwk: await exportJWK(prover.privateKey) } }),
    },
    withHeader('a jwk with an empty d', ({ jwk }) => ({ jwk: { ...jwk, d: '' } })),
    withHeader('a symmetric jwk', () => ({ jwk: { kty: 'oct', k: 'c2VjcmV0' } })),
    withHeader('a jwk that is no point of the curve', ({ jwk }) => ({ jwk: { ...jwk, x: jwk.y } })),
    withHeader('a jwk with another spelling of x', ({ jwk }) => ({ jwk: { ...jwk, x: `${jwk.x}=` } })),
    withHeader('a jwk of another curve', ({ jwk }) => ({ jwk: { ...jwk, crv: 'P-384' } })),
    withHeader('a jwk of another type', ({ jwk }) => ({ jwk: { ...jwk, kty: 'RSA' } })),
    {
      what: 'the signature of another key',
      make: async (prover, claims) =>
        prover.proof({ claims, signedBy: (await generateKeyPair('ES256')).privateKey }),
    },
    {
      what: 'an HMAC with the public key as its secret',
      make: async (prover, claims) => {
        const proof = await prover.proof({ claims });
        const signed = `${encode({ typ: 'dpop+jwt', alg: 'HS256', jwk: prover.jwk })}.${proof.split('.')[1]}`;
        const secret = JSON.stringify(prover.jwk);
        return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
      },
    },
    withText(
      'alg none without a signature',
      parts((header, payload) => `${encode({ ...decode(header), alg: 'none' })}.${payload}.`),
    ),
    withText(
      'alg none with the signature',
      parts(
        (header, payload, signature) =>
          `${encode({ ...decode(header), alg: 'none' })}.${payload}.${signature}`,
      ),
    ),
    withText(
      'a header that was changed after signing',
      parts(
        (header, payload, signature) => `${encode({ ...decode(header), more: 1 })}.${payload}.${signature}`,
      ),
    ),
    withText(
      'a critical header that is not known',
      parts(
        (header, payload, signature) =>
          `${encode({ ...decode(header), crit: ['b64'] })}.${payload}.${signature}`,
      ),
    ),
    withText(
      'claims that were changed after signing',
      parts(
        (header, payload, signature) =>
          `${header}.${encode({ ...decode(payload), jti: 'new' })}.${signature}`,
      ),
    ),
    withText(
      'a claim that is given twice',
      parts((header, payload, signature) => {
        const text = Buffer.from(payload, 'base64url').toString();
        const doubled = Buffer.from(text.replace('{', '{"htm":"GET",')).toString('base64url');
        return `${header}.${doubled}.${signature}`;
      }),
    ),
    withText(
      'no signature',
      parts((header, payload) => `${header}.${payload}`),
    ),
    withText(
      'an empty signature',
      parts((header, payload) => `${header}.${payload}.`),
    ),
    withText('half of the signature', (proof) => proof.slice(0, -43)),
    withText('padding', (proof) => `${proof}==`),
    withText('a fourth part', (proof) => `${proof}.e30`),
    withText('two proofs', (proof) => `${proof}, ${proof}`),
    withText('a space in it', (proof) => proof.replace('.', '. ')),
    withText('garbage', () => 'garbage'),
    withText('an empty header', () => ''),
    withText(
      'JSON null as claims',
      parts((header, _, signature) => `${header}.bnVsbA.${signature}`),
    ),
    withText('more than 8 KB', (proof) => proof + 'A'.repeat(8_192)),
  ];
};
