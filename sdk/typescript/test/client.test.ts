/** The client against a real server. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { decodeJwt, exportJWK, importPKCS8 } from 'jose';
import { listen } from '../../../test/support/clients/listening.ts';
import { newAgent } from '../../../test/support/harness.ts';
import { newResource } from '../../../test/support/scenarios/resources/resources.ts';
import { createTrustClient } from '../../../test/support/scenarios/trust.ts';
import { ApiError, type Auth, type ClientOptions, createClient } from '../src/sdk.ts';

const t = await listen({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { issuer } = t;

const clientOf = (agent: { clientId: string; clientSecret: string }, changes: Partial<ClientOptions> = {}) =>
  createClient({ issuer, clientId: agent.clientId, auth: agent.clientSecret, ...changes });
const operator = clientOf(t.operator);

const newAgentWith = (allowedScopes: string[]) => t.agent({ allowedScopes });
const timesIssued = async (agentId: string): Promise<number> =>
  (await t.sql("select 1 from audit_events where action = 'token.issued' and agent_id = $1", [agentId]))
    .length;

describe('token', () => {
  it('200 by a secret, then from the cache; another scope is another token', async () => {
    const agent = await newAgentWith(['agents:read', 'audit:read']);
    const client = clientOf(agent);
    const token = await client.token();
    assert.equal(decodeJwt(token).client_id, agent.agentId);
    assert.equal(await client.token(), token);
    const narrow = await client.token({ scope: ['audit:read'] });
    assert.equal(decodeJwt(narrow).scope, 'audit:read');
    assert.equal(await client.token({ scope: 'audit:read' }), narrow);
    assert.equal(
      await client.token({ scope: ' audit:read  agents:read' }),
      await client.token({ scope: ['agents:read', 'audit:read'] }),
    );
    assert.equal(await client.token({ resource: `${issuer}/` }), token, 'the issuer is the API');
    assert.equal(await timesIssued(agent.agentId), 3);
  });

  it('200 once for fifty concurrent callers', async () => {
    const agent = await newAgentWith(['agents:read']);
    const client = clientOf(agent);
    const tokens = await Promise.all(Array.from({ length: 50 }, () => client.token()));
    assert.equal(new Set(tokens).size, 1);
    assert.equal(await timesIssued(agent.agentId), 1);
  });

  for (const [name, options] of [
    ['P-256', { type: 'ec', options: { namedCurve: 'P-256' }, algorithm: 'ES256' }],
    ['P-384', { type: 'ec', options: { namedCurve: 'P-384' }, algorithm: 'ES384' }],
    ['Ed25519', { type: 'ed25519', options: {}, algorithm: 'EdDSA' }],
    ['RSA', { type: 'rsa', options: { modulusLength: 2048 }, algorithm: 'RS256' }],
  ] as const) {
    it(`200 by a private key: ${name} as JWK, PEM text and CryptoKey`, async () => {
      const agent = await newAgentWith(['agents:read']);
      const { privateKey, publicKey } = generateKeyPairSync(
        options.type as 'ec',
        options.options as { namedCurve: string },
      );
      const { algorithm } = options;
      await operator.api.putAgentKeys({
        agentId: agent.agentId,
        body: { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1' } as never] },
      });
      const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
      const forms: Auth[] = [
        { key: { ...(await exportJWK(privateKey)), kid: 'k1', alg: algorithm } },
        { key: pem, algorithm, keyId: 'k1' },
        { key: await importPKCS8(pem, algorithm) },
      ];
      for (const auth of forms)
        assert.equal(decodeJwt(await clientOf(agent, { auth }).token()).client_id, agent.agentId);
    });
  }

  it('refuses keys that cannot sign, before a request', async () => {
    for (const auth of [
      { key: 'no PEM', algorithm: 'ES256' },
      { key: '-----BEGIN PRIVATE KEY-----' },
      { key: { kty: 'RSA' } },
    ])
      await assert.rejects(
        createClient({ issuer, clientId: 'x', auth }).token(),
        /the private key in auth cannot be used: /,
      );
  });

  it('401 invalid_client for a wrong secret, with the request id', async () => {
    const agent = await newAgentWith(['agents:read']);
    await assert.rejects(clientOf(agent, { auth: 'cs_wrong' }).token(), (error) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.status, error.code], [401, 'invalid_client']);
      assert.ok(error.requestId && error.message.includes(error.requestId));
      assert.doesNotMatch(error.message, /cs_wrong/);
      return true;
    });
  });

  it("200 by a workload's token, a new one for each request", async () => {
    const { createPolicy } = await createTrustClient(t);
    const policy = await createPolicy({ audiences: [issuer] });
    let count = 0;
    const client = createClient({
      issuer,
      clientId: policy.agentId,
      auth: () => {
        count += 1;
        return policy.sign({ aud: issuer });
      },
    });
    assert.equal(decodeJwt(await client.token()).client_id, policy.agentId);
    await client.token({ scope: 'agents:read' });
    assert.equal(count, 2);
    assert.equal((await client.api.getAgent({ agentId: policy.agentId })).agentId, policy.agentId);
    const broken = createClient({
      issuer,
      clientId: policy.agentId,
      auth: () => Promise.reject(new TypeError('no file')),
    });
    await assert.rejects(broken.token(), /the function in auth failed: no file/);
  });
});

/** An API that answers with the Authorization header that it gets. */
async function startResource(path: string) {
  const seen: { url: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    seen.push({ url: request.url ?? '', headers: request.headers });
    response.end('ok');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close().closeAllConnections());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const identifier = `${origin}${path}`;
  const resource = await operator.api.createResource({
    body: { ...newResource({ identifier }), scopes: [{ name: 'orders:read' }] },
  });
  return { seen, origin, identifier, resourceId: resource.resourceId };
}

describe('fetch', () => {
  it('adds a token for the resource that covers the address, or that is named', async () => {
    const agent = await newAgentWith(['agents:read']);
    const api = await startResource('/orders');
    await operator.api.putAgentGrant({
      agentId: agent.agentId,
      resourceId: api.resourceId,
      body: { scopes: ['orders:read'] },
    });
    const client = clientOf(agent, { resources: [api.identifier] });
    assert.equal((await client.fetch(`${api.identifier}/7?x=1`)).status, 200);
    const everything: RequestInit = { method: 'GET', headers: [], body: null, signal: null };
    assert.equal((await client.fetch(`${api.identifier}/7?x=1`, everything)).status, 200);
    const token = api.seen[0]?.headers.authorization?.slice('Bearer '.length) ?? '';
    const { aud, scope, sub } = decodeJwt(token);
    assert.deepEqual({ aud, scope, sub }, { aud: api.identifier, scope: 'orders:read', sub: agent.agentId });
    assert.equal(await client.token({ resource: api.identifier }), token);
    for (const outside of [`${api.origin}/ordersx`, `${api.origin}/`, 'https://other.example/orders'])
      await assert.rejects(client.fetch(outside), /no API covers .*add its identifier/);
    assert.equal(api.seen.length, 2);
    const { origin, identifier: resource } = api;
    await clientOf(agent).fetch(`${origin}/status`, { resource, origin, scope: 'orders:read' });
    assert.equal(decodeJwt(api.seen[2]?.headers.authorization?.slice(7) ?? '').aud, api.identifier);
  });

  it('the API itself needs no resource', async () => {
    const response = await operator.fetch(`${issuer}/api/v1/agents?limit=1`);
    assert.equal(response.status, 200);
  });

  it('400 invalid_target without a grant', async () => {
    const agent = await newAgentWith(['agents:read']);
    const api = await startResource('/orders');
    await assert.rejects(clientOf(agent, { resources: [api.identifier] }).fetch(api.identifier), {
      status: 400,
      code: 'invalid_target',
    });
    assert.equal(api.seen.length, 0);
  });
});

describe('api', () => {
  it('creates, reads, changes and ends', async () => {
    const agent = await operator.api.createAgent({ body: newAgent() as never });
    assert.equal((await operator.api.getAgent({ agentId: agent.agentId })).email, agent.email);
    const changed = await operator.api.updateAgent({ agentId: agent.agentId, body: { owner: 'other' } });
    assert.equal(changed.owner, 'other');
    assert.equal(await operator.api.decommissionAgent({ agentId: agent.agentId }), undefined);
    await assert.rejects(operator.api.decommissionAgent({ agentId: agent.agentId }), {
      status: 409,
      code: 'AGENT_ALREADY_DECOMMISSIONED',
    });
  });

  it('gives a new agent no scopes but those that the program names', async () => {
    const scopesOf = async (body: object) =>
      (await operator.api.createAgent({ body: { ...newAgent(), ...body } as never })).allowedScopes;
    assert.deepEqual(await scopesOf({}), []);
    assert.deepEqual(await scopesOf({ allowedScopes: undefined }), []);
    assert.deepEqual(await scopesOf({ allowedScopes: ['agents:read'] }), ['agents:read']);
  });

  it('400 VALIDATION_ERROR with the fields', async () => {
    await assert.rejects(operator.api.createAgent({ body: { email: 'no' } as never }), (error) => {
      assert.ok(error instanceof ApiError);
      assert.equal(error.code, 'VALIDATION_ERROR');
      const { fields } = error.details as { fields: { field: string }[] };
      assert.ok(fields.some(({ field }) => field === 'email'));
      return true;
    });
  });

  it('an idempotency key creates once', async () => {
    const input = { body: newAgent() as never };
    const [one, two] = [
      await operator.api.createAgent(input, { idempotencyKey: 'once' }),
      await operator.api.createAgent(input, { idempotencyKey: 'once' }),
    ];
    assert.equal(one.agentId, two.agentId);
  });

  it('forms, operations without a token, and answers that are no JSON', async () => {
    const token = await clientOf(await newAgentWith(['agents:read'])).token();
    assert.equal((await operator.api.introspectToken({ body: { token } })).active, true);
    await operator.api.revokeToken({ body: { token } });
    assert.equal((await operator.api.introspectToken({ body: { token } })).active, false);
    assert.equal((await createClient({ issuer, clientId: 'none', auth: 'none' }).api.health()).status, 'ok');
    const lines = (await (await operator.api.exportAudit()).text()).trim().split('\n');
    assert.ok(lines.length > 1);
    assert.match(await (await operator.api.metrics()).text(), /service_tokens_issued_total/);
  });

  it('all items of a list, page by page', async () => {
    const owner = 'pages';
    const made = await Promise.all(
      Array.from({ length: 7 }, () => operator.api.createAgent({ body: newAgent({ owner }) as never })),
    );
    for (const limit of [2, 7, 100]) {
      const found: string[] = [];
      for await (const { agentId } of operator.api.listAgents.all({ query: { owner, limit } }))
        found.push(agentId);
      assert.deepEqual(found.sort(), made.map(({ agentId }) => agentId).sort());
    }
    for await (const _ of operator.api.listAgents.all({ query: { owner: 'none' } }))
      assert.fail('there is none');
  });

  it('a list in a query is a parameter for each of its items', async () => {
    const labels = [{ team: 'a,b', env: 'prod' }, { team: 'a,b' }, { env: 'prod' }];
    for (const each of labels)
      await operator.api.createAgent({ body: { ...newAgent(), labels: each } as never });
    const { data } = await operator.api.listAgents({
      query: { label: ['team:a,b', 'env'], sort: 'name', include: 'activity' },
    });
    assert.deepEqual(
      data.map(({ labels: found, lastTokenDate }) => [found, lastTokenDate]),
      [[labels[0], null]],
    );
    assert.equal((await operator.api.listAgents({ query: { label: ['team:a,b'] } })).total, 2);
  });

  it('all deliveries of a webhook', async () => {
    const webhook = await operator.api.createWebhook({
      body: { name: 'w', url: 'https://receiver.example/', events: ['agent.created'] },
    });
    for (let count = 0; count < 5; count += 1) await operator.api.testWebhook({ id: webhook.id });
    const ids = new Set<string>();
    for await (const { id } of operator.api.listWebhookDeliveries.all({
      id: webhook.id,
      query: { limit: 2 },
    }))
      ids.add(id);
    assert.equal(ids.size, 5);
  });

  it('refuses a path parameter that is missing, or leads elsewhere, before a request', async () => {
    for (const agentId of ['', '.', '..', undefined as unknown as string])
      await assert.rejects(operator.api.getAgent({ agentId }), /getAgent needs agentId/);
    await assert.rejects(operator.api.getAgent({ agentId: '../organizations' }), {
      code: 'VALIDATION_ERROR',
    });
  });

  it('has the operations and nothing else, so that it is no promise', async () => {
    assert.equal(Reflect.get(operator.api, 'then'), undefined);
    assert.equal(Reflect.get(operator.api, 'constructor'), undefined);
    assert.ok('listAgents' in operator.api);
    assert.equal(await Promise.resolve(operator.api), operator.api);
  });

  it('401 UNAUTHORIZED once: a token that was revoked is replaced', async () => {
    const agent = await newAgentWith(['agents:read']);
    const client = clientOf(agent);
    const token = await client.token();
    await operator.api.revokeToken({ body: { token } });
    assert.equal((await client.api.getAgent({ agentId: agent.agentId })).agentId, agent.agentId);
    assert.notEqual(await client.token(), token);
    assert.equal(await timesIssued(agent.agentId), 2);
  });

  it('403 unauthorized_client for an agent that was suspended: the new token is refused', async () => {
    const agent = await newAgentWith(['agents:read']);
    const client = clientOf(agent);
    await client.token();
    await operator.api.updateAgent({ agentId: agent.agentId, body: { status: 'suspended' } });
    await assert.rejects(client.api.getAgent({ agentId: agent.agentId }), {
      status: 403,
      code: 'unauthorized_client',
    });
  });
});

describe('delegations', () => {
  it('lend scopes, act on behalf of the delegator, and pass it on', async () => {
    const [lender, helper, third] = [
      await newAgentWith(['agents:read', 'audit:read']),
      await newAgentWith([]),
      await newAgentWith([]),
    ];
    const { delegationToken, chainId } = await clientOf(lender).delegate({
      delegateeId: helper.agentId,
      scopes: ['agents:read'],
      allowRedelegation: true,
      purpose: 'a test',
    });
    const own = clientOf(helper);
    const acting = own.redeem(delegationToken);
    const { sub, client_id, chain_id, act } = decodeJwt(await acting.token());
    assert.deepEqual(
      { sub, client_id, chain_id, act },
      { sub: lender.agentId, client_id: helper.agentId, chain_id: chainId, act: { sub: helper.agentId } },
    );
    assert.equal((await acting.api.getAgent({ agentId: lender.agentId })).agentId, lender.agentId);
    await assert.rejects(own.api.getAgent({ agentId: lender.agentId }), { code: 'INSUFFICIENT_SCOPE' });
    assert.equal(
      await own.redeem(delegationToken).token(),
      await acting.token(),
      'the cache knows the chain',
    );

    const passed = await acting.delegate({ delegateeId: third.agentId, scopes: ['agents:read'] });
    assert.equal(passed.parentChainId, chainId);
    const deepest = clientOf(third).redeem(passed.delegationToken);
    assert.equal(decodeJwt(await deepest.token()).sub, lender.agentId);

    await clientOf(lender).api.revokeDelegation({ chainId });
    await assert.rejects(acting.api.getAgent({ agentId: lender.agentId }), {
      status: 403,
      code: 'DELEGATION_REVOKED',
    });
    await assert.rejects(own.redeem(delegationToken).token({ scope: 'agents:read' }), ApiError);
  });

  it('for a resource: its token is for the resource and never goes to the API', async () => {
    const [lender, helper] = [await newAgentWith(['agents:read']), await newAgentWith([])];
    const api = await startResource('/tasks');
    await operator.api.putAgentGrant({
      agentId: lender.agentId,
      resourceId: api.resourceId,
      body: { scopes: ['orders:read'] },
    });
    const { delegationToken } = await clientOf(lender).delegate({
      delegateeId: helper.agentId,
      scopes: ['orders:read'],
      resource: [api.identifier],
    });
    const acting = clientOf(helper, { resources: [api.identifier] }).redeem(delegationToken);
    await acting.fetch(`${api.identifier}/1`);
    const { aud, sub } = decodeJwt(api.seen[0]?.headers.authorization?.slice(7) ?? '');
    assert.deepEqual({ aud, sub }, { aud: api.identifier, sub: lender.agentId });
    await assert.rejects(
      acting.api.listAgents(),
      (error) => error instanceof ApiError && error.code !== 'UNAUTHORIZED',
    );
    assert.throws(() => acting.redeem(''), TypeError);
  });

  it('a workload redeems with its own token', async () => {
    const { createPolicy } = await createTrustClient(t);
    const policy = await createPolicy({ audiences: [issuer], scopes: [] });
    const lender = await newAgentWith(['agents:read']);
    const { delegationToken } = await clientOf(lender).delegate({
      delegateeId: policy.agentId,
      scopes: ['agents:read'],
    });
    const workload = createClient({
      issuer,
      clientId: policy.agentId,
      auth: () => policy.sign({ aud: issuer }),
    });
    assert.equal(decodeJwt(await workload.redeem(delegationToken).token()).sub, lender.agentId);
  });
});
