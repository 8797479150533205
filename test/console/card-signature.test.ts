/** Signatures of cards, as the console checks them: with headers that the server never writes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

// Its types are those of a browser.
const source = new URL('../../console/src/pages/agents/identity/verify-jws.ts', import.meta.url);
const { verifySignature } = await import(source.href);
const { privateKey, publicKey } = (await crypto.subtle.generateKey('Ed25519', true, [
  'sign',
  'verify',
])) as Awaited<ReturnType<typeof crypto.subtle.generateKey>> & {
  privateKey: Parameters<typeof crypto.subtle.sign>[1];
  publicKey: Parameters<typeof crypto.subtle.exportKey>[1];
};
const key = { id: 'did:web:example#1', publicKeyJwk: await crypto.subtle.exportKey('jwk', publicKey) };
const encode = (content: string | ArrayBuffer) => Buffer.from(content as string).toString('base64url');

async function signed(members: object) {
  const header = encode(JSON.stringify({ alg: 'EdDSA', kid: key.id, typ: 'JOSE', ...members }));
  const payload = encode('{}');
  const bytes = new TextEncoder().encode(`${header}.${payload}`);
  return {
    header,
    payload,
    signature: encode(await crypto.subtle.sign('Ed25519', privateKey, bytes)),
    typ: 'JOSE',
  };
}

test('a signature counts only with the algorithm of its key, the expected type and no critical extension', async () => {
  assert.equal(await verifySignature(await signed({}), key), true);
  await assert.rejects(verifySignature(await signed({ alg: 'RS256' }), key), /algorithm RS256/);
  await assert.rejects(verifySignature(await signed({ alg: 'none' }), key), /algorithm none/);
  await assert.rejects(verifySignature(await signed({ typ: 'at+jwt' }), key), /type at\+jwt/);
  await assert.rejects(
    verifySignature(await signed({ crit: ['b64'], b64: false }), key),
    /critical extension/,
  );
});
