/** Verification with introspection: the server says at once that a token has ended. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createVerifier, type TokenError } from '../src/sdk.ts';
import { type Agent, refusedWith, startOrders } from './orders.ts';

const { t, issuer, organizationId, succeed, register, grant, clientOf, buyerOf } = await startOrders();
const audience = 'https://orders.example.com';
const resourceId = await register(audience);
const base = { issuer, audience, organizationId, subjects: 'agents', revocation: 'none' } as const;
const verifier = createVerifier(base);
const operatorToken = await t.token();

describe("revocation: 'introspect'", () => {
  const introspecting = (reader: Agent, changes: object = {}) =>
    createVerifier({
      ...base,
      revocation: 'introspect',
      introspectWith: clientOf(reader),
      ...changes,
    });
  const newReader = () => t.agent({ allowedScopes: ['tokens:read'] });
  const freshToken = async (scopes = ['orders:read']) => {
    const agent = await buyerOf(resourceId, scopes);
    return { agent, token: await clientOf(agent).token({ resource: audience }) };
  };
  const revoke = (revoked: string) => t.form('/api/v1/token/revoke', { token: revoked }, operatorToken);

  it('401 invalid_token for a revoked token, which is accepted offline until it expires', async () => {
    const online = introspecting(await newReader());
    const { agent, token } = await freshToken();
    assert.equal((await online.verify(token)).agentId, agent.agentId);
    await revoke(token);
    await assert.rejects(online.verify(token), refusedWith(401, 'invalid_token', /revoked/));
    await verifier.verify(token);
  });

  it('401 invalid_token when the agent is suspended', async () => {
    const online = introspecting(await newReader());
    const { agent, token } = await freshToken();
    await online.verify(token);
    await succeed('PATCH', `/agents/${agent.agentId}`, { status: 'suspended' });
    await assert.rejects(online.verify(token), refusedWith(401, 'invalid_token'));
  });

  it('401 or 403 when the grant is narrowed: a scope that was taken back does not count', async () => {
    const online = introspecting(await newReader());
    const { agent, token } = await freshToken(['orders:read', 'orders:write']);
    await online.verify(token, { scopes: 'orders:write' });
    await grant(agent, resourceId, ['orders:read']);
    await assert.rejects(online.verify(token, { scopes: 'orders:write' }), (error) =>
      [401, 403].includes((error as TokenError).status),
    );
  });

  it('503 temporarily_unavailable without an answer: no access to introspection, no server, or another answer', async () => {
    const { token } = await freshToken();
    const offline = {
      ...base,
      revocation: 'introspect',
    } as const;
    const answers = [
      () => Promise.reject(new TypeError('fetch failed')),
      async () => new Response('down', { status: 502 }),
      async () => new Response('{"active":"yes"}'),
      async () => new Response('null'),
      async () => new Response('{}'),
      async () => new Response('{"active":true}'),
      async () => new Response('<html>'),
      async () => new Response('{"active":true,"scope":"orders:read"}', { status: 500 }),
    ];
    for (const fetch of answers)
      await assert.rejects(
        createVerifier({ ...offline, introspectWith: { fetch } }).verify(token),
        refusedWith(503, 'temporarily_unavailable', /cannot be checked/),
      );
    const withoutScope = await t.agent({ allowedScopes: ['agents:read'] });
    await assert.rejects(
      introspecting(withoutScope).verify(token),
      refusedWith(503, 'temporarily_unavailable'),
    );
  });

  it('a forged token is refused before the server is asked', async () => {
    const { token } = await freshToken();
    const fetch = () => assert.fail('asked');
    const online = createVerifier({ ...base, revocation: 'introspect', introspectWith: { fetch } });
    await assert.rejects(online.verify(`${token.slice(0, -6)}AAAAAA`), refusedWith(401, 'invalid_token'));
  });

  it('introspectionCacheSeconds: an answer counts for a while, and only a good one', async () => {
    let now = Date.now();
    let asked = 0;
    const client = clientOf(await newReader());
    const online = createVerifier({
      ...base,
      revocation: 'introspect',
      introspectWith: {
        fetch(url, init) {
          asked += 1;
          return client.fetch(url, init);
        },
      },
      introspectionCacheSeconds: 10,
      platform: { now: () => now },
    });
    const { token } = await freshToken();
    await online.verify(token);
    await online.verify(token);
    assert.equal(asked, 1);
    await revoke(token);
    await online.verify(token);
    now += 10_000;
    await assert.rejects(online.verify(token), refusedWith(401, 'invalid_token'));
    await assert.rejects(online.verify(token), refusedWith(401, 'invalid_token'));
    assert.equal(asked, 3);
  });
});
