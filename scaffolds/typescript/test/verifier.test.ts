import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { JSONWebKeySet } from 'jose';
import { createVerifier, TokenError, type VerifiedToken } from '../src/countersign/sdk.ts';

interface Case {
  name: string;
  acceptAnyOrganization: boolean;
  token: string;
}

const cases: {
  issuer: string;
  audience: string;
  organizationId: string;
  jwks: JSONWebKeySet;
  accepted: (Case & { verified: Omit<VerifiedToken, 'claims'> })[];
  refused: (Case & { reason: string })[];
} = JSON.parse(
  readFileSync(new URL('../testdata/access-token-cases.json', import.meta.url), 'utf8'),
);

const { issuer, audience, organizationId, jwks } = cases;
const tokens = { issuer, audience, jwks, revocation: 'none' } as const;

const verifierFor = ({ acceptAnyOrganization }: Case) =>
  createVerifier(
    acceptAnyOrganization ? { ...tokens, acceptAnyOrganization } : { ...tokens, organizationId },
  );

for (const each of cases.accepted) {
  test(`accepted: ${each.name}`, async () => {
    const { claims, ...verified } = await verifierFor(each).verify(each.token);
    assert.deepEqual({ ...verified, chainId: verified.chainId ?? null }, each.verified);
    assert.equal(claims.iss, issuer);
  });
}

for (const each of cases.refused) {
  test(`refused: ${each.name}`, () =>
    assert.rejects(
      verifierFor(each).verify(each.token),
      (error) => error instanceof TokenError && error.message.includes(each.reason),
    ));
}

test('a verifier needs an organization, or the option to accept any', () => {
  for (const wrong of ['', 'acme', undefined as unknown as string]) {
    assert.throws(() => createVerifier({ ...tokens, organizationId: wrong }), TypeError);
  }
  createVerifier({ ...tokens, acceptAnyOrganization: true });
});
