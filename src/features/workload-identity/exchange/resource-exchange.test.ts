import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { type Answer, startApp } from '../../../../test/support/harness.ts';
import { createTrustClient } from '../../../../test/support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { createPolicy, exchange } = await createTrustClient(t);

/** As a client assertion at the token endpoint. */
const present = (client_assertion: string, more: Record<string, string> = {}): Promise<Answer> =>
  t.askToken({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion,
    ...more,
  });
const errorOf = ({ status, json }: Answer) => [status, json.error];

describe('an outside token for another audience', () => {
  it('400 invalid_target for more than one resource at /oidc/token', async () => {
    const policy = await createPolicy({ singleUse: false });
    const fields = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      subject_token: await policy.sign(),
    };
    const ask = (...resources: string[]) =>
      t.call('POST', '/api/v1/oidc/token', {
        payload: new URLSearchParams([
          ...Object.entries(fields),
          ...resources.map((one) => ['resource', one] as [string, string]),
        ]).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
    assert.deepEqual(errorOf(await ask('https://a.example/', 'https://b.example/')), [400, 'invalid_target']);
    assert.deepEqual(errorOf(await ask('http://countersign.test', 'http://countersign.test')), [
      400,
      'invalid_request',
    ]);
  });
  it("200 for an unregistered audience with the policy's scopes; 400 invalid_scope for others", async () => {
    const policy = await createPolicy({ singleUse: false, scopes: ['agents:read'] });
    const token = await policy.sign();
    const resource = 'https://unregistered.example/';
    for (const send of [exchange, present]) {
      const { json } = await send(token, { resource });
      const { aud, scope } = decodeJwt(json.access_token);
      assert.deepEqual([aud, scope], [resource, 'agents:read']);
      assert.deepEqual(errorOf(await send(token, { resource, scope: 'audit:read' })), [400, 'invalid_scope']);
    }
    assert.equal((await present(token, { scope: 'audit:read' })).json.error, 'unsupported_grant_type');
  });
});
