import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { JSONWebKeySet } from 'jose';
import {
  createVerifier,
  type Subjects,
  TokenError,
  type VerifiedToken,
} from '../src/countersign/sdk.ts';

interface Case {
  name: string;
  acceptAnyOrganization: boolean;
  subjects: Subjects;
  token: string;
}

const cases: {
  issuer: string;
  audience: string;
  organizationId: string;
  jwks: JSONWebKeySet;
  accepted: (Case & { verified: Omit<VerifiedToken, 'claims'> })[];
  refused: (Case & { reason: string; code: string })[];
} = JSON.parse(
  readFileSync(new URL('../testdata/access-token-cases.json', import.meta.url), 'utf8'),
);

const { issuer, audience, organizationId, jwks } = cases;
const tokens = { issuer, audience, jwks, revocation: 'none' } as const;

const verifierFor = ({ acceptAnyOrganization, subjects }: Case) =>
  createVerifier({
    ...{ ...tokens, subjects },
    ...(acceptAnyOrganization ? { acceptAnyOrganization } : { organizationId }),
  });

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
      (error) =>
        error instanceof TokenError &&
        error.code === each.code &&
        error.message.includes(each.reason),
    ));
}

test('a verifier needs an organization, or the option to accept any, and the subjects', () => {
  const agents = { ...tokens, subjects: 'agents' } as const;
  for (const wrong of ['', 'acme', undefined as unknown as string]) {
    assert.throws(() => createVerifier({ ...agents, organizationId: wrong }), TypeError);
  }
  createVerifier({ ...agents, acceptAnyOrganization: true });
  const unknown = undefined as unknown as Subjects;
  assert.throws(() => createVerifier({ ...agents, organizationId, subjects: unknown }), TypeError);
});
