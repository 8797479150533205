/**
 * Signs test/support/scaffold/access-token-cases.ts with keys made for this run and writes the file that the generated projects
 * contain. The private keys are not stored, so that every run replaces all tokens.
 */
import { createHmac, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import {
  accepted,
  audience,
  issuer,
  organizationId,
  refused,
  type TokenCase,
} from '../test/support/scaffold/access-token-cases.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function sign({ header, payload, signedWith }: TokenCase): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${signatureOf(input, header, signedWith)}`;
}

function signatureOf(input: string, header: object, signedWith: TokenCase['signedWith']): string {
  if (signedWith === 'none') return '';
  if (signedWith === 'public') {
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    return createHmac('sha256', pem).update(input).digest('base64url');
  }
  const hash = 'alg' in header && header.alg === 'RS512' ? 'RSA-SHA512' : 'RSA-SHA256';
  const key: KeyObject = signedWith === 'other' ? other : privateKey;
  return createSign(hash).update(input).sign(key, 'base64url');
}

const head = ({ name, acceptAnyOrganization }: TokenCase) => ({ name, acceptAnyOrganization });

const file = {
  issuer,
  audience,
  organizationId,
  jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' }] },
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
