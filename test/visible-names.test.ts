/** Names that people read: at least one visible character, and none that changes the order of the text. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newAgent, startApp } from './support/harness.ts';

const t = await startApp();
const token = await t.token();
const agent = await t.agent();

const bodies: Record<string, (name: string) => [path: string, body: object]> = {
  'an organization': (name) => ['/organizations', { name, slug: `s-${crypto.randomUUID()}` }],
  'a webhook': (name) => ['/webhooks', { name, url: 'https://hooks.example.com', events: ['*'] }],
  'a resource': (name) => [
    '/resources',
    { name, identifier: `https://${crypto.randomUUID()}.example.com`, scopes: [{ name: 'a:b' }] },
  ],
  'a credential': (name) => [`/agents/${agent.agentId}/credentials`, { name }],
  'a trust policy': (name) => [
    '/oidc/trust-policies',
    {
      name,
      agentId: agent.agentId,
      provider: 'custom',
      issuer: 'https://issuer.example',
      jwksUri: 'https://issuer.example/jwks',
      audiences: ['us'],
      subject: crypto.randomUUID(),
      scopes: ['agents:read'],
    },
  ],
  'a partner': (name) => [
    '/federation/trust',
    { name, issuer: `https://${crypto.randomUUID()}.example`, jwksUri: 'https://issuer.example/jwks' },
  ],
};

const invisible = ['\u200b', ' \u2060\u00ad', '\u2800', '\u3164\u115f', '\u{E0041}\u{E0042}', '\ufe0f'];
const imitating = ['Pay\u202Eorll', '\u2066Acme\u2069', 'A\u200fB', 'A\u0007'];
const visible = ['Ada Lovelace', '日本', '👩‍💻 team', ' \u200bx'];

describe('names', () => {
  for (const [what, bodyOf] of Object.entries(bodies)) {
    const send = (name: string) => {
      const [path, payload] = bodyOf(name);
      return t.call('POST', `/api/v1${path}`, { token, payload });
    };
    it(`400 VALIDATION_ERROR for the name of ${what} that shows nothing, or imitates`, async () => {
      for (const name of [...invisible, ...imitating]) {
        const { status, json } = await send(name);
        assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], JSON.stringify(name));
      }
    });
    it(`201 for other names of ${what}`, async () => {
      for (const name of visible) {
        const { status, text } = await send(name);
        assert.equal(status, 201, text);
      }
    });
  }

  it('400 VALIDATION_ERROR for a display name with a hidden character or a blank at an end, 201 for others', async () => {
    const send = (displayName: string) =>
      t.call('POST', '/api/v1/agents', { token, payload: newAgent({ displayName }) });
    for (const name of [...invisible, ...imitating, 'Pay\u200broll', '👩‍💻 team', ' Ada', 'Ada '])
      assert.equal((await send(name)).status, 400, JSON.stringify(name));
    for (const name of ['Ada Lovelace', '日本', '🤖 team', 'x'])
      assert.equal((await send(name)).status, 201, name);
  });

  it('400 VALIDATION_ERROR for the owner of an agent that shows nothing', async () => {
    for (const owner of invisible) {
      const { status } = await t.call('POST', '/api/v1/agents', { token, payload: newAgent({ owner }) });
      assert.equal(status, 400, JSON.stringify(owner));
    }
  });
});
