/** Clients as the authorization endpoint sees them: resolved by id or address, admitted by the policy, and given an agent. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { exportJWK } from 'jose';
import { newAgent, startApp, type TestApp } from '../../../test/support/harness.ts';
import { startReceiver, trustTestAuthority } from '../../../test/support/peers/receivers.ts';
import { createOutbound } from '../../adapters/outbound/outbound.ts';
import type { Client } from './service.ts';

trustTestAuthority();

/** The documents of the clients, by path; each test changes its own. */
const documents = new Map<string, object>();
const server = await startReceiver(({ url }, response) => {
  const document = documents.get(url);
  response
    .writeHead(document ? 200 : 404, { 'content-type': 'application/json' })
    .end(JSON.stringify(document ?? {}));
});
const outbound = createOutbound({
  allowPrivate: false,
  resolve: async () => ['127.0.0.1'],
  isPublic: (address) => address === '127.0.0.1',
  delay: (_, signal) => sleep(50, undefined, { signal }),
});
const [single, multi] = await Promise.all([
  startApp({ MULTI_TENANT: 'false' }, undefined, { outbound }),
  startApp({ MULTI_TENANT: 'true' }, undefined, { outbound }),
]);

const actor = { requestId: 'test', ipAddress: '203.0.113.9', userAgent: 'test' };

const publish = (changes: object = {}, host = 'receiver.test') => {
  const path = `/${randomUUID()}/client.json`;
  const address = `https://${host}:${server.port}${path}`;
  const write = (more: object = {}) =>
    documents.set(path, {
      client_id: address,
      client_name: 'Example application',
      redirect_uris: ['https://app.example.com/callback'],
      ...changes,
      ...more,
    });
  write();
  return { address, write, path };
};

const resolveClient = async (t: TestApp, clientId: string): Promise<Client> => {
  const client = await t.app.clients.resolve(clientId);
  assert.ok('kind' in client, JSON.stringify(client));
  return client;
};
const problemOf = async (t: TestApp, clientId: string): Promise<string> => {
  const client = await t.app.clients.resolve(clientId);
  assert.ok('problem' in client, clientId);
  return client.problem;
};

async function createScenario(t: TestApp) {
  const token = await t.token();
  const makeOrganization = async (changes: object = {}): Promise<string> =>
    (
      await t.call('POST', '/api/v1/organizations', {
        token,
        payload: { name: 'Talent', slug: `team-${randomUUID().slice(0, 18)}`, planTier: 'pro', ...changes },
      })
    ).json.organizationId;
  const setPolicy = async (id: string, payload: object) => {
    const { status, text } = await t.call('PUT', `/api/v1/organizations/${id}/client-policy`, {
      token,
      payload,
    });
    assert.equal(status, 200, text);
  };
  return {
    token,
    makeOrganization,
    setPolicy,
    agentOf: (organizationId: string, client: Client) =>
      t.app.db.transaction((tx) => t.app.clients.agentOf(tx, actor, organizationId, client)),
    admission: (organizationId: string, client: Client) =>
      t.app.clients.admission(t.app.db, organizationId, client),
    agent: async (agentId: string) => (await t.call('GET', `/api/v1/agents/${agentId}`, { token })).json,
    patch: (agentId: string, payload: object) =>
      t.call('PATCH', `/api/v1/agents/${agentId}`, { token, payload }),
    keys: async (agentId: string) =>
      (await t.call('GET', `/api/v1/agents/${agentId}/keys`, { token })).json.keys,
    events: async (agentId: string) =>
      (
        await t.sql<{ action: string; metadata: Record<string, unknown> }>(
          'select action, metadata from audit_events where agent_id = $1 order by occurred_at, event_id',
          [agentId],
        )
      ).map(({ action, metadata }) => ({ action, metadata })),
  };
}
const { token, makeOrganization, setPolicy, agentOf, admission, agent, patch, keys, events } =
  await createScenario(multi);

describe('resolve', () => {
  it('finds an agent by its id, in upper case too', async () => {
    const organizationId = await makeOrganization();
    const payload = newAgent({
      organization_id: organizationId,
      redirectUris: ['https://app.example.com/cb', 'http://127.0.0.1/cb'],
      publicClient: true,
    });
    const { agentId } = (await multi.call('POST', '/api/v1/agents', { token, payload })).json;
    const client = await resolveClient(multi, agentId.toUpperCase());
    assert.deepEqual(client, {
      kind: 'registered',
      agentId,
      organizationId,
      status: 'active',
      name: payload.email,
      publicClient: true,
      redirectUris: ['https://app.example.com/cb', 'http://127.0.0.1/cb'],
    });
    assert.equal(multi.app.clients.matchesRedirectUri(client, 'http://127.0.0.1:7000/cb'), true);
    assert.equal(multi.app.clients.matchesRedirectUri(client, 'https://app.example.com:7000/cb'), false);
    assert.match(await problemOf(multi, randomUUID()), /no client/);
  });

  it('reads a document by its address; the host has no port', async () => {
    const { address } = publish({ client_name: 'My \u202eapp' });
    const client = await resolveClient(multi, address);
    const document = {
      name: 'My app',
      redirectUris: ['https://app.example.com/callback'],
      publicClient: true,
      dpopBoundAccessTokens: false,
      softwareVersion: null,
      keys: [],
    };
    const { softwareVersion: _, keys: __, dpopBoundAccessTokens: ___, ...facts } = document;
    assert.deepEqual(client, {
      kind: 'document',
      clientUri: address,
      host: 'receiver.test',
      ...facts,
      document,
    });
    // A request stores it as JSON.
    const stored = JSON.parse(JSON.stringify(client));
    assert.deepEqual(multi.app.clients.ofDocument(address, stored.document), client);
  });

  const at = `receiver.test:${server.port}`;
  const badAddresses = [
    '',
    'client.json',
    '12345',
    `http://${at}/client.json`,
    `HTTPS://${at}/client.json`,
    ` https://${at}/client.json`,
    `https://${at}`,
    `https://${at}/`,
    `https://${at}?x=/client.json`,
    `https://${at}/?x=client.json`,
    `https://${at}/client.json#`,
    `https://${at}/client.json#part`,
    `https://user@${at}/client.json`,
    `https://user:secret@${at}/client.json`,
    `https://@${at}/client.json`,
    `https://${at}/./client.json`,
    `https://${at}/a/../client.json`,
    `https://${at}/a/%2e%2E/client.json`,
    `https://${at}/a/.%2e/client.json`,
    `https://${at}/a/..`,
    `https://${at}/a/.`,
    `https://${at}\\client.json`,
    `https://${at}/client json`,
    `https://${at}/client.json\n`,
    'https:///client.json',
    'https://bücher.example/client.json',
    'https://..example/client.json',
    'https://example.com:0/client.json',
    `https://${at}/${'a'.repeat(2_048)}`,
    'javascript:alert(1)',
  ];
  for (const address of badAddresses)
    it(`refuses ${JSON.stringify(address.slice(0, 60))} without a request`, async () => {
      const requests = server.received.length;
      await problemOf(multi, address);
      assert.equal(server.received.length, requests);
    });

  it('accepts dots, queries and encoded characters that belong to a path', async () => {
    for (const suffix of [
      '/.well-known/client',
      '/a..b/client',
      '/client.json?v=/../x',
      '/%2e%2e%2e/client',
    ]) {
      const address = `https://${at}${suffix}`;
      documents.set(suffix, {
        client_id: address,
        client_name: 'x',
        redirect_uris: ['https://app.example.com/'],
      });
      await resolveClient(multi, address);
    }
  });
});

describe('the agent of a client with a document', () => {
  it('is created at the first use, with events, and found again', async () => {
    const organizationId = await makeOrganization();
    const { address } = publish({
      software_version: '2.0.0-rc.1',
      redirect_uris: ['https://app.example.com/callback', 'http://localhost/callback'],
    });
    const client = await resolveClient(multi, address);
    assert.equal(await admission(organizationId, client), 'admitted');
    const made = await agentOf(organizationId, client);
    assert.equal(made?.status, 'active');
    const { agentId } = made as { agentId: string };
    const { email, createdAt, updatedAt: _, ...rest } = await agent(agentId);
    assert.match(email, /^receiver\.test\.[0-9a-f]{8}@client\.invalid$/);
    assert.match(createdAt, /Z$/);
    assert.deepEqual(rest, {
      agentId,
      organizationId,
      displayName: null,
      labels: {},
      agentType: 'custom',
      version: '2.0.0-rc.1',
      capabilities: [],
      owner: 'receiver.test',
      deploymentEnv: 'production',
      status: 'active',
      allowedScopes: [],
      rateLimitPerMinute: null,
      redirectUris: ['https://app.example.com/callback', 'http://localhost/callback'],
      publicClient: true,
      clientUri: address,
      notificationUri: null,
      dpopBoundAccessTokens: false,
    });
    assert.deepEqual(await agentOf(organizationId, client), made);
    const recorded = await events(agentId);
    assert.deepEqual(
      recorded.map(({ action }) => action),
      ['agent.created', 'client.registered'],
    );
    const { requestId: __, ...facts } = recorded[1]?.metadata ?? {};
    assert.deepEqual(facts, { clientUri: address, host: 'receiver.test', status: 'active' });
    // It is in the lists, and its documents are readable, without capabilities.
    for (const url of [
      `/agents?organizationId=${organizationId}&email=${encodeURIComponent(email)}`,
      `/agents/${agentId}/did`,
      `/agents/${agentId}/did/card`,
      `/agents/${agentId}/grants`,
      `/sdk/scaffold/${agentId}?language=java`,
      '/compliance/report',
    ]) {
      const answer = await multi.call('GET', `/api/v1${url}`, { token });
      assert.equal(answer.status, 200, `${url}: ${answer.text}`);
    }
    // Named by its address, never by its id.
    assert.match(await problemOf(multi, agentId), /address/);
  });

  it('has the version 1.0.0 by default', async () => {
    const organizationId = await makeOrganization();
    const client = await resolveClient(multi, publish({ software_version: 'latest' }).address);
    const made = await agentOf(organizationId, client);
    assert.equal((await agent(made?.agentId ?? '')).version, '1.0.0');
  });

  it('is one per organization and address, also when many come at once', async () => {
    const organizationId = await makeOrganization();
    const client = await resolveClient(multi, publish().address);
    const made = await Promise.all(Array.from({ length: 12 }, () => agentOf(organizationId, client)));
    assert.equal(new Set(made.map((each) => each?.agentId)).size, 1);
    assert.equal((await events(made[0]?.agentId ?? '')).length, 2);
    const other = await resolveClient(multi, publish().address);
    assert.notEqual((await agentOf(organizationId, other))?.agentId, made[0]?.agentId);
  });

  it('exists in two organizations, also on a single-tenant instance', async () => {
    const scenario = await createScenario(single);
    const client = await resolveClient(single, publish().address);
    const ids = [await scenario.makeOrganization(), await scenario.makeOrganization()];
    const made = await Promise.all(ids.map((id) => scenario.agentOf(id, client)));
    assert.equal(new Set(made.map((each) => each?.agentId)).size, 2);
  });

  it('counts against the plan', async () => {
    const organizationId = await makeOrganization({ maxAgents: 1 });
    const first = await resolveClient(multi, publish().address);
    const second = await resolveClient(multi, publish().address);
    await agentOf(organizationId, first);
    await assert.rejects(agentOf(organizationId, second), { code: 'FREE_TIER_LIMIT_EXCEEDED' });
    assert.ok(await agentOf(organizationId, first));
  });

  it('is not revived: suspended and decommissioned stay', async () => {
    const organizationId = await makeOrganization();
    const { address, write } = publish();
    const client = await resolveClient(multi, address);
    const made = await agentOf(organizationId, client);
    const agentId = made?.agentId ?? '';
    for (const status of ['suspended', 'decommissioned'] as const) {
      assert.equal((await patch(agentId, { status })).status, 200);
      assert.deepEqual(await agentOf(organizationId, client), { agentId, status });
    }
    write({ redirect_uris: ['https://other.example/'] });
    multi.clock.advance(61_000);
    assert.deepEqual(await agentOf(organizationId, await resolveClient(multi, address)), {
      agentId,
      status: 'decommissioned',
    });
    assert.deepEqual((await agent(agentId)).redirectUris, ['https://app.example.com/callback']);
  });

  it('gets new redirect URIs and keys at the next consent, with an event; nothing when the document is the same', async () => {
    const organizationId = await makeOrganization();
    const publicKey = async () => exportJWK(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey);
    const [one, two] = [
      { ...(await publicKey()), kid: 'one' },
      { ...(await publicKey()), kid: 'two' },
    ];
    const keyed = { token_endpoint_auth_method: 'private_key_jwt' };
    const { address, write } = publish({ ...keyed, jwks: { keys: [one] } });
    const consent = async () => {
      multi.clock.advance(61_000);
      return agentOf(organizationId, await resolveClient(multi, address));
    };
    const agentId = (await consent())?.agentId ?? '';
    assert.deepEqual([await keys(agentId), (await agent(agentId)).publicClient], [[one], false]);
    await consent();
    assert.equal((await events(agentId)).length, 2);

    write({ jwks: { keys: [two] }, redirect_uris: ['https://app.example.com/new'] });
    // Not before a consent.
    multi.clock.advance(61_000);
    await resolveClient(multi, address);
    assert.deepEqual((await agent(agentId)).redirectUris, ['https://app.example.com/callback']);
    await consent();
    const changed = await agent(agentId);
    assert.deepEqual([await keys(agentId), changed.redirectUris], [[two], ['https://app.example.com/new']]);
    const last = (await events(agentId)).at(-1);
    assert.equal(last?.action, 'agent.updated');
    assert.deepEqual([last?.metadata.changed, last?.metadata.kids], [['redirectUris', 'keys'], ['two']]);

    // Of another kind: its keys are gone.
    write({ token_endpoint_auth_method: 'none' });
    await consent();
    assert.deepEqual([await keys(agentId), (await agent(agentId)).publicClient], [[], true]);
    const recorded = (await events(agentId)).length;
    write({ token_endpoint_auth_method: 'none', client_name: 'Renamed' });
    await consent();
    assert.equal((await events(agentId)).length, recorded);
  });

  it('400 VALIDATION_ERROR for a change of what its document says, and for a proof of another kind', async () => {
    const organizationId = await makeOrganization();
    const made = await agentOf(organizationId, await resolveClient(multi, publish().address));
    const url = `/api/v1/agents/${made?.agentId}`;
    const key = await exportJWK(generateKeyPairSync('ed25519').publicKey);
    const requests: [method: 'PATCH' | 'POST' | 'PUT', path: string, payload: object, field: string][] = [
      ['PATCH', url, { redirectUris: [] }, 'redirectUris'],
      ['PATCH', url, { publicClient: false }, 'publicClient'],
      ['POST', `${url}/credentials`, {}, 'agentId'],
      ['PUT', `${url}/keys`, { keys: [key] }, 'keys'],
    ];
    for (const [method, path, payload, field] of requests) {
      const { status, json } = await multi.call(method, path, { token, payload });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], JSON.stringify(json));
      assert.ok(JSON.stringify(json.details).includes(field), JSON.stringify(json));
    }
    const immutable = await multi.call('PATCH', url, { token, payload: { clientUri: null } });
    assert.deepEqual([immutable.status, immutable.json.code], [400, 'IMMUTABLE_FIELD']);
    // The rest is the administrator's.
    assert.equal(
      (await patch(made?.agentId ?? '', { owner: 'security', capabilities: ['a:b'] })).status,
      200,
    );
  });
});

describe('the client policy', () => {
  it('off refuses new clients and those that have an agent', async () => {
    const organizationId = await makeOrganization();
    const client = await resolveClient(multi, publish().address);
    await agentOf(organizationId, client);
    await setPolicy(organizationId, { mode: 'off' });
    for (const each of [client, await resolveClient(multi, publish().address)]) {
      assert.equal(await admission(organizationId, each), 'refused');
      assert.equal(await agentOf(organizationId, each), undefined);
    }
  });

  it('domains admits hosts that equal an entry or are below it', async () => {
    const client = await resolveClient(multi, publish().address);
    const cases: [string[], string][] = [
      [['receiver.test'], 'admitted'],
      [['RECEIVER.TEST'], 'admitted'],
      [['other.example', 'test'], 'admitted'],
      [['other.example'], 'refused'],
      [['sub.receiver.test'], 'refused'],
      [['eceiver.test'], 'refused'],
      [['est'], 'refused'],
      [[], 'refused'],
    ];
    for (const [domains, expected] of cases) {
      const organizationId = await makeOrganization();
      await setPolicy(organizationId, { mode: 'domains', domains });
      assert.equal(await admission(organizationId, client), expected, domains.join());
      assert.equal(
        (await agentOf(organizationId, client)) !== undefined,
        expected === 'admitted',
        domains.join(),
      );
    }
  });

  it('approval creates a suspended agent, and admits the client once an administrator has activated it', async () => {
    const organizationId = await makeOrganization();
    await setPolicy(organizationId, { mode: 'approval' });
    const { address } = publish();
    const client = await resolveClient(multi, address);
    assert.equal(await admission(organizationId, client), 'approval');
    const made = await agentOf(organizationId, client);
    assert.equal(made?.status, 'suspended');
    const agentId = made?.agentId ?? '';
    assert.equal((await agent(agentId)).status, 'suspended');
    assert.deepEqual(
      (await events(agentId)).map(({ action, metadata }) => [action, metadata.status]),
      [
        ['agent.created', 'suspended'],
        ['client.registered', 'suspended'],
      ],
    );
    assert.equal(await admission(organizationId, client), 'approval');
    assert.equal((await patch(agentId, { status: 'active' })).status, 200);
    assert.equal(await admission(organizationId, client), 'admitted');
    assert.deepEqual(await agentOf(organizationId, client), { agentId, status: 'active' });
  });

  it('does not concern registered agents, which belong to their own organization only', async () => {
    const [home, other] = [await makeOrganization(), await makeOrganization()];
    await setPolicy(home, { mode: 'off' });
    const payload = newAgent({ organization_id: home, redirectUris: ['https://app.example.com/'] });
    const { agentId } = (await multi.call('POST', '/api/v1/agents', { token, payload })).json;
    const client = await resolveClient(multi, agentId);
    assert.equal(await admission(home, client), 'admitted');
    assert.deepEqual(await agentOf(home, client), { agentId, status: 'active' });
    assert.equal(await agentOf(other, client), undefined);
    await patch(agentId, { status: 'suspended' });
    assert.deepEqual(await agentOf(home, client), { agentId, status: 'suspended' });
  });
});
