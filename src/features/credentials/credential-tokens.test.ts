/** Tokens name the credential that they were issued with, and end when it is revoked. */
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { environment, startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';

const t = await startApp();
const { createDelegation, redeem } = createDelegationClient(t);
const operator = () => t.token();

const generate = async (agentId: string, payload: object = {}) =>
  (await t.call('POST', `/api/v1/agents/${agentId}/credentials`, { token: await operator(), payload })).json;
const revoke = async ({ clientId, credentialId }: { clientId: string; credentialId: string }) => {
  const path = `/api/v1/agents/${clientId}/credentials/${credentialId}`;
  assert.equal((await t.call('DELETE', path, { token: await operator() })).status, 204);
};
const isActive = async (token: string): Promise<boolean> =>
  (await t.form('/api/v1/token/introspect', { token }, await operator())).json.active;
const statusWith = async (token: string) => (await t.call('GET', '/api/v1/agents', { token })).status;
const isValid = async (token: string) => [await isActive(token), await statusWith(token)];

/** An agent, one of its credentials, and a token by it whose status is cached. */
async function issued() {
  const { agentId, ...first } = await t.agent();
  const credential = await generate(agentId);
  const token = await t.token(undefined, credential);
  assert.deepEqual(await isValid(token), [true, 200]);
  return { agentId, first, credential, token };
}

describe('the claim credential_id', () => {
  it('names the credential of the secret, in the token and in its audit event', async () => {
    const { credential, token } = await issued();
    const { credential_id, jti } = decodeJwt(token);
    assert.equal(credential_id, credential.credentialId);
    const [event] = await t.sql<{ metadata: { credentialId: string } }>(
      "select metadata from audit_events where action = 'token.issued' and metadata->>'tokenId' = $1",
      [jti],
    );
    assert.equal(event?.metadata.credentialId, credential.credentialId);
  });

  it('200 for a token of an earlier version, which has no such claim', async () => {
    const { credential, token } = await issued();
    const { credential_id: _, ...claims } = decodeJwt(token);
    const earlier = await new SignJWT(claims)
      .setProtectedHeader(decodeProtectedHeader(token) as { alg: string })
      .sign(createPrivateKey(environment('').JWT_PRIVATE_KEY));
    assert.deepEqual(await isValid(earlier), [true, 200]);
    await revoke(credential);
    assert.deepEqual(await isValid(earlier), [true, 200]);
    assert.deepEqual(await isValid(token), [false, 401]);
  });
});

describe('DELETE /agents/{agentId}/credentials/{credentialId}', () => {
  it('401 with the reason for its tokens at once; tokens of another credential stay valid', async () => {
    const { first, credential, token } = await issued();
    const ofFirst = await t.token(undefined, first);
    await revoke(credential);
    for (let time = 0; time < 3; time += 1) assert.deepEqual(await isValid(token), [false, 401]);
    const { json, headers } = await t.call('GET', '/api/v1/agents', { token });
    const message =
      'The credential that the access token was issued with was revoked. Get a new token with another credential.';
    assert.deepEqual(json, { code: 'UNAUTHORIZED', message });
    assert.ok(String(headers['www-authenticate']).includes(`error_description="${message}"`));
    assert.deepEqual(await isValid(ofFirst), [true, 200]);
    t.clock.advance(61_000);
    assert.deepEqual(await isValid(token), [false, 401]);
    assert.deepEqual(await isValid(ofFirst), [true, 200]);
  });

  it('401 for a delegated token of an actor whose credential is revoked; the delegation stays', async () => {
    const lender = await t.agent();
    const { agentId, first, credential } = await issued();
    const actor = { agentId, ...credential };
    const chain = await createDelegation(await t.token(undefined, lender), actor, ['agents:read']);
    const lent = await redeem(actor, chain);
    assert.equal(decodeJwt(lent).credential_id, credential.credentialId);
    assert.deepEqual(await isValid(lent), [true, 200]);
    await revoke(credential);
    assert.deepEqual(await isValid(lent), [false, 401]);
    assert.deepEqual(await isValid(await redeem({ agentId, ...first }, chain)), [true, 200]);
  });
});

describe('a token stays valid', () => {
  it('200 after its credential was rotated, and ends when the rotated credential is revoked', async () => {
    const { agentId, credential, token } = await issued();
    const path = `/api/v1/agents/${agentId}/credentials/${credential.credentialId}`;
    const rotated = (await t.call('POST', `${path}/rotate`, { token: await operator() })).json;
    assert.deepEqual(await isValid(token), [true, 200]);
    const later = await t.token(undefined, rotated);
    await revoke(credential);
    assert.deepEqual(
      [await isValid(token), await isValid(later)],
      [
        [false, 401],
        [false, 401],
      ],
    );
  });

  it('200 after its credential has expired', async () => {
    const { agentId } = await t.agent();
    const expiresAt = new Date(t.clock.now() + 60_000).toISOString();
    const credential = await generate(agentId, { expiresAt });
    const token = await t.token(undefined, credential);
    t.clock.advance(61_000);
    await assert.rejects(t.token(undefined, credential), /401/);
    assert.deepEqual(await isValid(token), [true, 200]);
  });
});
