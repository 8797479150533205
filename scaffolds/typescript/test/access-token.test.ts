import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createLocalJWKSet, exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose';
import { createVerifier, type VerifiedToken } from '../src/access-token.ts';

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

const { issuer, audience, organizationId } = cases;

const verifierFor = (
  { acceptAnyOrganization }: Pick<Case, 'acceptAnyOrganization'>,
  keys = createLocalJWKSet(cases.jwks),
) =>
  createVerifier(
    acceptAnyOrganization
      ? { issuer, audience, keys, acceptAnyOrganization }
      : { issuer, audience, keys, organizationId },
  );

for (const each of cases.accepted) {
  test(`accepted: ${each.name}`, async () => {
    const { claims, ...verified } = await verifierFor(each)(each.token);
    assert.deepEqual({ ...verified, chainId: verified.chainId ?? null }, each.verified);
    assert.equal(claims.iss, issuer);
  });
}

for (const each of cases.refused) {
  test(`refused: ${each.name}`, () =>
    assert.rejects(verifierFor(each)(each.token), ({ message }: Error) =>
      message.includes(each.reason),
    ));
}

test('a verifier needs an organization, or the option to accept any', () => {
  for (const wrong of ['', 'acme', undefined as unknown as string]) {
    assert.throws(() => createVerifier({ issuer, audience, organizationId: wrong }), TypeError);
  }
  createVerifier({ issuer, audience, acceptAnyOrganization: true });
});

test('clocks may differ by five seconds', async () => {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const keys = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k' }] });
  const verify = verifierFor({ acceptAnyOrganization: false }, keys);
  const sign = (secondsLeft: number) =>
    new SignJWT({ client_id: organizationId, organization_id: organizationId })
      .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'k' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(organizationId)
      .setExpirationTime(Math.floor(Date.now() / 1000) + secondsLeft)
      .sign(privateKey);
  await verify(await sign(-1));
  await assert.rejects(verify(await sign(-10)));
});
