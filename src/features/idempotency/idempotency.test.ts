import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';

const plain = await startApp();
const encrypting = await startApp({ DATA_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') });
type App = typeof plain;

const tokens = new Map<App, string>();
const tokenOf = async (t: App) => {
  const token = tokens.get(t) ?? (await t.token());
  tokens.set(t, token);
  return token;
};

async function post(t: App, url: string, key: string, payload: object, token?: string) {
  const headers = { 'idempotency-key': key };
  return t.call('POST', `/api/v1${url}`, { token: token ?? (await tokenOf(t)), payload, headers });
}
const makeAgent = async (t: App): Promise<{ agentId: string; organizationId: string }> =>
  (await t.call('POST', '/api/v1/agents', { token: await tokenOf(t), payload: newAgent() })).json;
const agentOf = async (t: App): Promise<string> => (await makeAgent(t)).agentId;

const creations = async (t: App) => {
  const { agentId, organizationId } = await makeAgent(t);
  const slug = `org-${randomUUID().slice(0, 8)}`;
  return [
    { url: '/agents', payload: newAgent(), secret: false, id: 'agentId', event: 'agent.created' },
    {
      url: '/resources',
      payload: { identifier: `https://${randomUUID()}.example`, name: 'A', scopes: [{ name: 'read' }] },
      secret: false,
      id: 'resourceId',
      event: 'resource.created',
    },
    {
      url: '/organizations',
      payload: { name: 'A', slug },
      secret: false,
      id: 'organizationId',
      event: 'organization.created',
    },
    {
      url: `/agents/${agentId}/credentials`,
      payload: {},
      secret: true,
      id: 'credentialId',
      event: 'credential.generated',
    },
    {
      url: '/webhooks',
      payload: { name: 'w', url: 'https://example.com/hook', events: ['*'] },
      secret: true,
      id: 'id',
      event: 'webhook.created',
    },
    {
      url: '/delegations',
      payload: { delegateeId: agentId, scopes: ['agents:read'] },
      secret: true,
      id: 'chainId',
      event: 'delegation.created',
    },
    {
      url: `/organizations/${organizationId}/connections`,
      payload: { name: 'A', issuer: 'https://login.example.com', clientId: 'a', clientSecret: 'a' },
      secret: false,
      id: 'connectionId',
      event: 'connection.created',
    },
  ];
};
const countOf = async (t: App, event: string) =>
  (await t.sql<{ n: number }>('select count(*)::int as n from audit_events where action = $1', [event]))[0]
    ?.n;

for (const [title, t] of [
  ['with DATA_ENCRYPTION_KEY', encrypting],
  ['without DATA_ENCRYPTION_KEY', plain],
] as const) {
  describe(`Idempotency-Key ${title}`, () => {
    it('201 again with the same body and nothing created, or 409 naming the id when a secret cannot be stored', async () => {
      for (const { url, payload, secret, id, event } of await creations(t)) {
        const key = randomUUID();
        const first = await post(t, url, key, payload);
        assert.equal(first.status, 201, `${url}: ${first.json}`);
        assert.equal(first.headers['idempotency-replayed'], undefined);
        const before = await countOf(t, event);
        const again = await post(t, url, key, payload);
        assert.equal(await countOf(t, event), before, url);
        if (secret && t === plain) {
          assert.equal(again.status, 409, url);
          assert.equal(again.json.code, 'IDEMPOTENCY_KEY_REUSED');
          assert.deepEqual(again.json.details, { createdId: first.json[id] });
        } else {
          assert.equal(again.status, 201, url);
          assert.deepEqual(again.json, first.json, url);
          assert.equal(again.headers['idempotency-replayed'], 'true');
          assert.match(String(again.headers['content-type']), /^application\/json/);
        }
      }
    });
  });
}

describe('Idempotency-Key', () => {
  it('stores secrets only encrypted', async () => {
    const agentId = await agentOf(encrypting);
    const { json } = await post(encrypting, `/agents/${agentId}/credentials`, randomUUID(), {});
    const rows = await encrypting.sql<{ response: string }>('select response from idempotency_keys');
    assert.ok(rows.length > 0 && rows.every(({ response }) => response.startsWith('sealed:1:')));
    assert.ok(!JSON.stringify(rows).includes(json.clientSecret));
  });

  it('422 IDEMPOTENCY_KEY_MISMATCH for another body or path; the order of the fields does not matter', async () => {
    const key = randomUUID();
    const agent = newAgent();
    const first = await post(plain, '/agents', key, agent);
    assert.equal(first.status, 201);
    const reordered = Object.fromEntries(Object.entries(agent).reverse());
    assert.deepEqual((await post(plain, '/agents', key, reordered)).json, first.json);
    const other = await post(plain, '/agents', key, { ...agent, owner: 'another' });
    assert.deepEqual([other.status, other.json.code], [422, 'IDEMPOTENCY_KEY_MISMATCH']);
    const elsewhere = await post(plain, `/agents/${first.json.agentId}/credentials`, key, agent);
    assert.equal(elsewhere.status, 400, 'the body is validated first');
    const path = await post(plain, '/organizations', key, {
      name: 'A',
      slug: `s-${randomUUID().slice(0, 8)}`,
    });
    assert.deepEqual([path.status, path.json.code], [422, 'IDEMPOTENCY_KEY_MISMATCH']);
  });

  it('means nothing to another caller', async () => {
    const agentId = await agentOf(plain);
    const { json: credential } = await post(plain, `/agents/${agentId}/credentials`, randomUUID(), {});
    const other = await plain.token('agents:write', {
      clientId: agentId,
      clientSecret: credential.clientSecret,
    });
    const key = randomUUID();
    const mine = await post(plain, '/agents', key, newAgent());
    const theirs = await post(plain, '/agents', key, newAgent(), other);
    assert.deepEqual([mine.status, theirs.status], [201, 201]);
    assert.notEqual(mine.json.agentId, theirs.json.agentId);
  });

  it('means nothing to a token of the same agent with fewer scopes, which could not have asked itself', async () => {
    const agentId = await agentOf(encrypting);
    const key = randomUUID();
    const first = await post(encrypting, `/agents/${agentId}/credentials`, key, {});
    assert.equal(first.status, 201);
    const weaker = await encrypting.token('agents:write');
    const again = await post(encrypting, `/agents/${agentId}/credentials`, key, {}, weaker);
    assert.deepEqual([again.status, again.json.code], [403, 'FORBIDDEN']);
  });

  it('a refused request does not use its key up', async () => {
    const taken = newAgent();
    assert.equal((await post(plain, '/agents', randomUUID(), taken)).status, 201);
    const key = randomUUID();
    assert.equal((await post(plain, '/agents', key, taken)).json.code, 'AGENT_ALREADY_EXISTS');
    assert.equal((await post(plain, '/agents', key, newAgent())).status, 201);
  });

  it('20 at once with one key create one', async () => {
    const agentId = await agentOf(encrypting);
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post(encrypting, `/agents/${agentId}/credentials`, key, {})),
    );
    const rows = await encrypting.sql('select 1 from credentials where agent_id = $1', [agentId]);
    assert.equal(rows.length, 1);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  });

  it('400 VALIDATION_ERROR for an empty, long or unprintable key', async () => {
    for (const key of ['', 'x'.repeat(256), 'a b', 'ä']) {
      const { status, json } = await post(plain, '/agents', key, newAgent());
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], JSON.stringify(key));
    }
  });

  it('is ignored where nothing is created', async () => {
    const { status } = await plain.call('GET', '/api/v1/agents', {
      token: await tokenOf(plain),
      headers: { 'idempotency-key': 'x'.repeat(300) },
    });
    assert.equal(status, 200);
  });

  it('is forgotten after 24 hours', async () => {
    const key = randomUUID();
    const agentId = await agentOf(plain);
    const first = await post(plain, `/agents/${agentId}/credentials`, key, {});
    await plain.sql("update idempotency_keys set created_at = created_at - interval '24 hours 1 second'");
    const second = await post(plain, `/agents/${agentId}/credentials`, key, {});
    assert.equal(second.status, 201);
    assert.notEqual(second.json.credentialId, first.json.credentialId);
  });

  it('commits with the change: without its row nothing is created', async () => {
    const agent = newAgent();
    await plain.sql(
      'alter table idempotency_keys add constraint refuse check (created_id is null) not valid',
    );
    const failed = await post(plain, '/agents', randomUUID(), agent);
    await plain.sql('alter table idempotency_keys drop constraint refuse');
    assert.equal(failed.status, 500);
    const rows = await plain.sql('select 1 from agents where email = $1', [agent.email]);
    assert.equal(rows.length, 0);
  });
});
