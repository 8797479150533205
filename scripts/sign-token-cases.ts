/**
 * Signs test/support/scaffold/access-token-cases.ts with keys made for this run and writes the file that the generated projects
 * contain. The private keys are not stored, so that every run replaces all tokens.
 */
import { createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import {
  accepted,
  audience,
  issuer,
  organizationId,
  refused,
  type TokenCase,
  type TokenKey,
} from '../test/support/scaffold/access-token-cases.ts';

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

const head = ({ name, acceptAnyOrganization }: TokenCase) => ({ name, acceptAnyOrganization });

const file = {
  issuer,
  audience,
  organizationId,
  jwks: { keys: [jwkOf('rsa'), jwkOf('ec'), jwkOf('ed25519')] },
  accepted: accepted.map((each) => ({ ...head(each), verified: each.verified, token: sign(each) })),
  refused: [
    ...refused.map((each) => ({ ...head(each), reason: each.reason, token: sign(each) })),
    ...['', 'x', 'x.y.z'].map((token) => ({
      name: `not a token: "${token}"`,
      acceptAnyOrganization: false,
      reason: '',
      token,
    })),
  ],
};

const target = new URL('../scaffolds/shared/testdata/access-token-cases.json', import.meta.url);
writeFileSync(target, `${JSON.stringify(file, undefined, 1)}\n`);
