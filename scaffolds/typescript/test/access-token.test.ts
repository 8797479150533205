import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createVerifier } from '../src/access-token.ts';

const issuer = 'https://id.example.com';
const audience = 'https://agent.example.com';
const { privateKey, publicKey } = await generateKeyPair('RS256');
const keys = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k' }] });
const verify = createVerifier({ issuer, audience, keys });

const claims = { iss: issuer, aud: audience, sub: 'a', client_id: 'a', scope: 'agents:read' };
const inAnHour = Math.floor(Date.now() / 1000) + 3600;

const sign = (
  header: object = {},
  changes: object = {},
  key: CryptoKey | Uint8Array = privateKey,
) =>
  new SignJWT({ ...claims, exp: inAnHour, ...changes })
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'k', ...header })
    .sign(key);

test('a genuine token tells whose it is', async () => {
  assert.deepEqual(await verify(await sign()), { clientId: 'a', scope: 'agents:read' });
});

const another = (await generateKeyPair('RS256')).privateKey;
const refused: Record<string, Promise<string>> = {
  'another issuer': sign({}, { iss: 'https://elsewhere.example.com' }),
  'another audience': sign({}, { aud: issuer }),
  'an expired one': sign({}, { exp: inAnHour - 7200 }),
  'one that never expires': sign({}, { exp: undefined }),
  'another kind of token': sign({ typ: 'JWT' }),
  'another key': sign({}, {}, another),
  'an unknown key': sign({ kid: 'other' }),
  'a symmetric signature': sign({ alg: 'HS256' }, {}, new TextEncoder().encode('k'.repeat(32))),
  'no signature': Promise.resolve(
    `${btoa('{"alg":"none","typ":"at+jwt"}')}.${btoa(JSON.stringify({ ...claims, exp: inAnHour }))}.`,
  ),
};
for (const [what, token] of Object.entries(refused)) {
  test(`refused: ${what}`, async () => assert.rejects(verify(await token)));
}
