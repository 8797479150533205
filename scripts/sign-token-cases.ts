/**
 * Signs test/support/scaffold/access-token-cases.ts with keys made for this run. Writes the file that the generated projects
 * contain, and `tokens` of sdk/vectors.json. The private keys are not stored, so that every run replaces all tokens.
 */
import { createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import {
  type AcceptedCase,
  accepted,
  acceptedBySdks,
  audience,
  issuer,
  organizationId,
  type RefusedCase,
  refused,
  refusedBySdks,
  type TokenCase,
  type TokenKey,
} from '../test/support/scaffold/access-token-cases.ts';
import { replaceVectors } from './sdk-vectors.ts';

const createKeys = () => ({
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ed25519: generateKeyPairSync('ed25519'),
});
const published = createKeys();
const others = createKeys();
const algorithms: Readonly<Record<TokenKey, string>> = { rsa: 'RS256', ec: 'ES256', ed25519: 'EdDSA' };

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function sign(each: TokenCase): string {
  const input = `${encode(each.header)}.${encode(each.payload)}`;
  return `${input}.${signatureOf(input, each)}`;
}

function signatureOf(input: string, { header, key, signedWith }: TokenCase): string {
  if (signedWith === 'none') return '';
  if (signedWith === 'public') {
    const pem = published[key].publicKey.export({ type: 'spki', format: 'pem' });
    return createHmac('sha256', pem).update(input).digest('base64url');
  }
  const hash = 'alg' in header && header.alg === 'RS512' ? 'sha512' : 'sha256';
  const { privateKey } = (signedWith === 'other' ? others : published)[key];
  const dsaEncoding = signedWith === 'der' ? 'der' : 'ieee-p1363';
  return signBytes(key === 'ed25519' ? null : hash, Buffer.from(input), {
    key: privateKey,
    dsaEncoding,
  }).toString('base64url');
}

const jwkOf = (kid: TokenKey) => ({
  ...published[kid].publicKey.export({ format: 'jwk' }),
  kid,
  alg: algorithms[kid],
  use: 'sig',
});

const head = ({ name, acceptAnyOrganization, subjects }: TokenCase) => ({
  name,
  acceptAnyOrganization,
  subjects,
});

const acceptedEntry = (each: AcceptedCase) => ({
  ...head(each),
  verified: each.verified,
  token: sign(each),
});
const refusedEntry = (each: RefusedCase) => ({
  ...head(each),
  reason: each.reason,
  code: each.code ?? 'invalid_token',
  token: sign(each),
});

const file = {
  issuer,
  audience,
  organizationId,
  jwks: { keys: [jwkOf('rsa'), jwkOf('ec'), jwkOf('ed25519')] },
  accepted: accepted.map(acceptedEntry),
  refused: [
    ...refused.map(refusedEntry),
    ...['', 'x', 'x.y.z'].map((token) => ({
      name: `not a token: "${token}"`,
      acceptAnyOrganization: false,
      subjects: 'agents',
      reason: '',
      code: 'invalid_token',
      token,
    })),
  ],
};

const target = new URL('../scaffolds/shared/testdata/access-token-cases.json', import.meta.url);
writeFileSync(target, `${JSON.stringify(file, undefined, 1)}\n`);

const withOptions = <Entry>(entry: Entry, { at, require }: TokenCase) => ({ ...entry, at, require });
replaceVectors({
  tokens: {
    ...file,
    accepted: [...file.accepted, ...acceptedBySdks.map((each) => withOptions(acceptedEntry(each), each))],
    refused: [...file.refused, ...refusedBySdks.map((each) => withOptions(refusedEntry(each), each))],
  },
});
