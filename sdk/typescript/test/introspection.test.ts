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
      introspectionCacheSeconds: 0,
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
      async () => new Response('{"active":true,"scope":"orders:read"}'),
      async () => new Response(`{"active":true,"scope":"orders:read","jti":"${crypto.randomUUID()}"}`),
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

  describe('introspectionCacheSeconds', () => {
    const counted = async (changes: object) => {
      const time = { now: Date.now(), elapsed: 0, onRead: () => {} };
      const client = clientOf(await newReader());
      const questions = {
        count: 0,
        answer: (): Promise<void> => Promise.resolve(),
      };
      const online = createVerifier({
        ...base,
        revocation: 'introspect',
        introspectWith: {
          async fetch(url, init) {
            questions.count += 1;
            await questions.answer();
            return client.fetch(url, init);
          },
        },
        platform: {
          now: () => time.now,
          elapsed() {
            time.onRead();
            return time.elapsed;
          },
        },
        ...changes,
      });
      return { time, questions, online };
    };

    for (const clock of ['now', 'elapsed'] as const)
      it(`one second by default, by the clock that says more (${clock}), for good and for bad answers`, async () => {
        const { time, questions, online } = await counted({});
        const { token } = await freshToken();
        await online.verify(token);
        if (clock === 'elapsed') time.now -= 10_000;
        time[clock] += 999;
        await online.verify(token);
        assert.equal(questions.count, 1);
        await revoke(token);
        time[clock] += 1;
        for (let call = 0; call < 3; call += 1)
          await assert.rejects(online.verify(token), refusedWith(401, 'invalid_token'));
        assert.equal(questions.count, 2);
      });

    it('calls at the same time share a question that is younger than that, and no older one', async () => {
      const { time, questions, online } = await counted({});
      const { token } = await freshToken();
      let answer = () => {};
      const answered = new Promise<void>((resolve) => {
        answer = resolve;
      });
      const asked = new Promise<void>((resolve) => {
        questions.answer = () => {
          resolve();
          return answered;
        };
      });
      const first = online.verify(token);
      await asked;
      // Only the age of a question is read from this clock.
      const joined = new Promise<void>((resolve) => {
        time.onRead = resolve;
      });
      const second = online.verify(token);
      await joined;
      time.onRead = () => {};
      time.elapsed += 1_000;
      questions.answer = () => Promise.resolve();
      await online.verify(token);
      assert.equal(questions.count, 2);
      answer();
      await Promise.all([first, second]);
    });

    it('0: every call asks; a failure is not remembered', async () => {
      const each = await counted({ introspectionCacheSeconds: 0 });
      const { token } = await freshToken();
      await Promise.all([each.online.verify(token), each.online.verify(token)]);
      assert.equal(each.questions.count, 2);
      const { questions, online } = await counted({});
      questions.answer = () => Promise.reject(new TypeError('fetch failed'));
      await assert.rejects(online.verify(token), refusedWith(503, 'temporarily_unavailable'));
      questions.answer = () => Promise.resolve();
      await online.verify(token);
    });
  });
});
