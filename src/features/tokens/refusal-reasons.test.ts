/** An access token with our signature is refused with the reason, in the message and in `WWW-Authenticate`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { startApp } from '../../../test/support/harness.ts';

const t = await startApp({ RATE_LIMIT_PER_MINUTE: '100000' });
const metadata = 'http://countersign.test/.well-known/oauth-protected-resource';
const allowedScopes = ['agents:read'];

const assertRefused = async (token: string, message: string, description = message) => {
  const { status, json, headers } = await t.call('GET', '/api/v1/agents', { token });
  assert.deepEqual([status, json], [401, { code: 'UNAUTHORIZED', message }]);
  assert.equal(
    headers['www-authenticate'],
    `Bearer error="invalid_token", error_description="${description}", scope="agents:read", resource_metadata="${metadata}"`,
  );
};

const newToken = async (fields: Record<string, string> = {}) => {
  const agent = await t.agent({ allowedScopes });
  const { clientId: client_id, clientSecret: client_secret } = agent;
  const form = { grant_type: 'client_credentials', client_id, client_secret, ...fields };
  const { status, json, text } = await t.askToken(form);
  assert.equal(status, 200, text);
  return { agent, token: json.access_token as string };
};

const setStatus = async ({ agentId }: { agentId: string }, status: string) => {
  const payload = { status };
  const token = await t.token();
  const answer = await t.call('PATCH', `/api/v1/agents/${agentId}`, { token, payload });
  assert.equal(answer.status, 200, answer.text);
};

describe('401 UNAUTHORIZED with the reason for an access token', () => {
  it('that was revoked', async () => {
    const { token } = await newToken();
    await t.form('/api/v1/token/revoke', { token }, token);
    await assertRefused(token, 'The access token was revoked.');
  });

  it('that is for another audience', async () => {
    const { token } = await newToken({ resource: 'https://elsewhere.test/api' });
    await assertRefused(token, 'The access token is for another audience: https://elsewhere.test/api');
  });

  it('whose audience does not fit into a header: the header has question marks', async () => {
    const { token } = await newToken({ resource: 'https://elsewhere.test/",error="none' });
    const told = 'The access token is for another audience: https://elsewhere.test/';
    await assertRefused(token, `${told}",error="none`, `${told}?,error=?none`);
  });

  for (const status of ['suspended', 'decommissioned'])
    it(`whose agent is ${status}`, async () => {
      const { agent, token } = await newToken();
      await setStatus(agent, status);
      await assertRefused(token, `The agent of the access token is ${status}.`);
    });

  it('from before a suspension of its agent that is active again', async () => {
    const { agent, token } = await newToken();
    await setStatus(agent, 'suspended');
    await setStatus(agent, 'active');
    await assertRefused(token, 'The access token was issued before its agent was suspended. Get a new one.');
  });

  it('that has expired', async () => {
    const { token } = await newToken();
    const expiry = new Date((decodeJwt(token).exp ?? 0) * 1000);
    t.clock.advance(3_601_000);
    await assertRefused(token, `The access token expired at ${expiry.toISOString().replace('.000Z', 'Z')}.`);
  });
});

describe('401 UNAUTHORIZED without a reason', () => {
  it('for a token whose signature is not ours', async () => {
    const { token } = await newToken({ resource: 'https://elsewhere.test/api' });
    const [head, body, signature = ''] = token.split('.');
    const forged = `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
    const { status, json, headers } = await t.call('GET', '/api/v1/agents', { token: forged });
    assert.deepEqual(
      [status, json],
      [401, { code: 'UNAUTHORIZED', message: 'The access token is expired, revoked or not one of ours.' }],
    );
    assert.equal(
      headers['www-authenticate'],
      `Bearer error="invalid_token", scope="agents:read", resource_metadata="${metadata}"`,
    );
  });
});
