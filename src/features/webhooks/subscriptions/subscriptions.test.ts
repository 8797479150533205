/** The routes under /webhooks. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../../test/support/harness.ts';
import { createMatrixFixture } from '../../../../test/support/principals.ts';
import { webhookEvents } from '../../../contract/events.ts';

const key = randomBytes(32).toString('base64');
const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', DATA_ENCRYPTION_KEY: key });
const { agentIn } = await createMatrixFixture(t);
const operatorToken = await t.token();
const api = '/api/v1/webhooks';

const makeOrganization = async (): Promise<string> =>
  (
    await t.call('POST', '/api/v1/organizations', {
      token: operatorToken,
      payload: { name: 'Team', slug: `team-${randomUUID()}`, planTier: 'pro' },
    })
  ).json.organizationId;

const home = await makeOrganization();
const { token } = await agentIn(home, ['webhooks:read', 'webhooks:write', 'agents:write', 'agents:read']);

const subscription = (changes: object = {}) => ({
  name: 'Ours',
  url: 'https://receiver.example/hook?a=b',
  events: ['agent.created', 'token.issued'],
  ...changes,
});
const create = (changes: object = {}, by = token) =>
  t.call('POST', api, { token: by, payload: subscription(changes) });
const made = async (changes: object = {}) => {
  const { status, json, text } = await create(changes);
  assert.equal(status, 201, text);
  return json;
};

describe('POST /webhooks', () => {
  it('201 with the subscription and its secret, shown once and encrypted at rest', async () => {
    const answer = await create();
    assert.equal(answer.status, 201);
    assert.equal(answer.headers['cache-control'], 'no-store');
    const { id, signingSecret, created_at, updated_at, ...rest } = answer.json;
    assert.deepEqual(rest, {
      ...subscription(),
      organization_id: home,
      active: true,
      failure_count: 0,
      previous_secret_expires_at: null,
    });
    assert.match(signingSecret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(created_at, updated_at);
    assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const [event] = await t.sql<{ action: string; metadata: object }>(
      "select action, metadata from audit_events where metadata ->> 'webhookId' = $1",
      [id],
    );
    assert.equal(event?.action, 'webhook.created');
    assert.match(JSON.stringify(event), /"target":"https:\/\/receiver\.example"/);
    assert.ok(!JSON.stringify(event).includes('hook?a=b'), 'the path may be a secret');
    for (const url of [api, `${api}/${id}`])
      assert.ok(!(await t.call('GET', url, { token })).text.includes(signingSecret));
    const [row] = await t.sql<{ signing_secret: string }>(
      'select signing_secret from webhook_subscriptions where subscription_id = $1',
      [id],
    );
    assert.match(row?.signing_secret ?? '', /^sealed:1:[0-9a-f]{16}:/);
    assert.ok(!row?.signing_secret.includes(signingSecret.slice(6, 30)));
  });

  it('201 for each event of the list, all of them, and the wildcard', async () => {
    for (const events of [['*'], [...webhookEvents], ['*', 'agent.created'], ['token.revoked']])
      assert.deepEqual((await made({ events })).events, events);
  });

  const refusals: [string, object][] = [
    ['http', { url: 'http://receiver.example/' }],
    ['another scheme', { url: 'ftp://receiver.example/' }],
    ['no URL', { url: 'receiver' }],
    ['an empty URL', { url: '' }],
    ['https without slashes', { url: 'https:receiver.example' }],
    ['https with backslashes', { url: 'https:\\\\receiver.example' }],
    ['blanks around', { url: ' https://receiver.example/' }],
    ['a line break', { url: 'https://receiver.example/\r\nx' }],
    ['credentials', { url: 'https://user:pass@receiver.example/' }],
    ['an empty user', { url: 'https://@receiver.example/' }],
    ['a fragment', { url: 'https://receiver.example/#x' }],
    ['an empty fragment', { url: 'https://receiver.example/#' }],
    ['no host', { url: 'https://' }],
    ['a host only behind a third slash', { url: 'https:///receiver.example/' }],
    ['a dot for a host', { url: 'https://.' }],
    ['a host with an empty part', { url: 'https://receiver..example/' }],
    ['port 0', { url: 'https://receiver.example:0/' }],
    ['a port too high', { url: 'https://receiver.example:65536/' }],
    ['a very long URL', { url: `https://receiver.example/${'x'.repeat(2_048)}` }],
    ['a number for a URL', { url: 7 }],
    ['NUL in the URL', { url: 'https://receiver.example/\u0000' }],
    ['a host name not in ASCII', { url: 'https://bücher.example/' }],
    ['NUL in the name', { name: 'a\u0000b' }],
    ['a lone surrogate', { name: '\ud800' }],
    ['a blank name', { name: '   ' }],
    ['a long name', { name: 'x'.repeat(256) }],
    ['no events', { events: [] }],
    ['an unknown event', { events: ['agent.exploded'] }],
    ['an audit-only event', { events: ['organization.created'] }],
    ['the test event', { events: ['webhook.test'] }],
    ['an event twice', { events: ['agent.created', 'agent.created'] }],
    ['events as a word', { events: '*' }],
    ['a nested event', { events: [['*']] }],
    ['an unknown field', { colour: 'red' }],
    ['active on creation', { active: false }],
    ['a secret of the caller', { signingSecret: 'whsec_x' }],
    ['a foreign organization', { organization_id: randomUUID() }],
  ];
  for (const [what, changes] of refusals) {
    it(`400 VALIDATION_ERROR for ${what}`, async () => {
      const { status, json } = await create(changes);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], JSON.stringify(json));
    });
  }
  it('400 VALIDATION_ERROR with the defect of the URL; an @ in the query is not a credential', async () => {
    const messageFor = async (url: string) => (await create({ url })).json.details?.fields?.[0]?.message;
    assert.equal(await messageFor('http://receiver.example/'), 'must be an absolute https:// URL');
    assert.equal(
      await messageFor('https://receiver.example/a b'),
      'must be printable ASCII, without blanks or backslashes',
    );
    assert.equal(await messageFor('https://a:b@receiver.example/'), 'must not carry credentials');
    assert.equal(await messageFor('https://receiver.example/#'), 'must not have a fragment');
    await made({ url: 'https://receiver.example?to=a@b' });
  });
  it('400 VALIDATION_ERROR when a field is missing, and for __proto__', async () => {
    for (const field of ['name', 'url', 'events']) {
      const { status, json } = await create({ [field]: undefined });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], field);
    }
    const payload = `{"name":"a","url":"https://receiver.example/","events":["*"],"__proto__":{"active":false}}`;
    const headers = { 'content-type': 'application/json' };
    assert.equal((await t.call('POST', api, { token, payload, headers })).status, 400);
  });

  it('403 FREE_TIER_LIMIT_EXCEEDED past 50, and of 60 at once exactly 50 succeed', async () => {
    const own = await agentIn(await makeOrganization(), ['webhooks:read', 'webhooks:write']);
    const answers = await Promise.all(Array.from({ length: 60 }, () => create({}, own.token)));
    const codes = answers.map(({ status, json }) => `${status} ${json.code ?? ''}`).sort();
    assert.deepEqual(codes, [
      ...Array.from({ length: 50 }, () => '201 '),
      ...Array.from({ length: 10 }, () => '403 FREE_TIER_LIMIT_EXCEEDED'),
    ]);
    assert.equal((await t.call('GET', api, { token: own.token })).json.length, 50);
  });
});

describe('authorization', () => {
  it('403 INSUFFICIENT_SCOPE names the scope; read does not write, write does not read', async () => {
    const { id } = await made();
    const reader = await agentIn(home, ['webhooks:read']);
    const writer = await agentIn(home, ['webhooks:write']);
    const refused = await create({}, reader.token);
    assert.deepEqual([refused.status, refused.json.code], [403, 'INSUFFICIENT_SCOPE']);
    assert.equal(refused.json.details.required, 'webhooks:write');
    assert.match(
      String(refused.headers['www-authenticate']),
      /error="insufficient_scope", scope="webhooks:write"/,
    );
    for (const url of [api, `${api}/${id}`, `${api}/${id}/deliveries`]) {
      assert.equal((await t.call('GET', url, { token: reader.token })).status, 200);
      const answer = await t.call('GET', url, { token: writer.token });
      assert.deepEqual([answer.status, answer.json.code], [403, 'INSUFFICIENT_SCOPE']);
    }
  });
  it('201 for an admin without either scope, in its own organization; 403 for a member', async () => {
    const admin = await agentIn(home, [], 'admin');
    const member = await agentIn(home, [], 'member');
    const { status, json } = await create({}, admin.token);
    assert.equal(status, 201);
    assert.equal((await t.call('GET', `${api}/${json.id}`, { token: admin.token })).status, 200);
    assert.equal((await t.call('DELETE', `${api}/${json.id}`, { token: admin.token })).status, 204);
    assert.equal((await create({}, member.token)).json.code, 'INSUFFICIENT_SCOPE');
  });
  it('200 lists the subscriptions of the own organization only, the oldest first', async () => {
    const own = await agentIn(await makeOrganization(), ['webhooks:read', 'webhooks:write']);
    const first = (await create({ name: 'first' }, own.token)).json;
    t.clock.advance(1_000);
    const second = (await create({ name: 'second' }, own.token)).json;
    const { json } = await t.call('GET', api, { token: own.token });
    assert.ok(Array.isArray(json));
    assert.deepEqual(
      json.map(({ id }: { id: string }) => id),
      [first.id, second.id],
    );
    const foreign = await t.call('GET', `${api}/${first.id}`, { token });
    assert.deepEqual([foreign.status, foreign.json.code], [404, 'WEBHOOK_NOT_FOUND']);
  });
});

describe('PATCH /webhooks/{id}', () => {
  it('200 changes the given fields and nothing else', async () => {
    const { signingSecret: _, ...before } = await made();
    t.clock.advance(1_000);
    const change = { name: 'Other', url: 'https://elsewhere.example/', events: ['*'], active: false };
    const { status, json } = await t.call('PATCH', `${api}/${before.id}`, { token, payload: change });
    assert.equal(status, 200);
    assert.ok(json.updated_at > before.updated_at);
    assert.deepEqual(json, { ...before, ...change, updated_at: json.updated_at });
    assert.deepEqual((await t.call('GET', `${api}/${before.id}`, { token })).json, json);
  });
  it('200 without fields, or with unchanged ones, records nothing', async () => {
    const { signingSecret: _, ...before } = await made();
    for (const options of [{}, { payload: {} }, { payload: { name: 'Ours', active: true } }]) {
      const answer = await t.call('PATCH', `${api}/${before.id}`, { token, ...options });
      assert.deepEqual([answer.status, answer.json], [200, before]);
    }
    const events = await t.sql("select 1 from audit_events where metadata ->> 'webhookId' = $1", [before.id]);
    assert.equal(events.length, 1);
  });
  it('400 VALIDATION_ERROR for http, an unknown event, an unknown field, a wrong type; nothing changed', async () => {
    const { signingSecret: _, ...before } = await made();
    const bad = [
      { url: 'http://receiver.example/' },
      { url: 'https://u:p@receiver.example/' },
      { events: ['nope'] },
      { events: [] },
      { active: 'yes' },
      { active: null },
      { failure_count: 0 },
      { id: randomUUID() },
      { signingSecret: 'whsec_x' },
    ];
    for (const payload of bad) {
      const { status, json } = await t.call('PATCH', `${api}/${before.id}`, { token, payload });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], JSON.stringify(payload));
    }
    assert.deepEqual((await t.call('GET', `${api}/${before.id}`, { token })).json, before);
  });
});

describe('by id', () => {
  const paths: ['GET' | 'PATCH' | 'DELETE' | 'POST', string, object?][] = [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['GET', '/deliveries'],
    ['POST', '/rotate-secret'],
    ['POST', '/test'],
    ['POST', '/deliveries/replay', { since: new Date().toISOString() }],
    ['POST', `/deliveries/${randomUUID()}/replay`],
  ];
  for (const [method, path, payload] of paths) {
    it(`404 WEBHOOK_NOT_FOUND and 400 VALIDATION_ERROR: ${method} ${path.replace(/[0-9a-f-]{36}/, '…')}`, async () => {
      const missing = await t.call(method, `${api}/${randomUUID()}${path}`, {
        token,
        ...(payload && { payload }),
      });
      assert.deepEqual([missing.status, missing.json.code], [404, 'WEBHOOK_NOT_FOUND']);
      const malformed = await t.call(method, `${api}/no-uuid${path}`, { token, ...(payload && { payload }) });
      assert.deepEqual([malformed.status, malformed.json.code], [400, 'VALIDATION_ERROR']);
    });
  }
  it('200 also in upper case', async () => {
    const { id } = await made();
    assert.equal((await t.call('GET', `${api}/${id.toUpperCase()}`, { token })).json.id, id);
    assert.equal((await t.call('POST', `${api}/${id.toUpperCase()}/rotate-secret`, { token })).status, 200);
  });
});

describe('DELETE /webhooks/{id}', () => {
  it('204 deletes the deliveries too; of 50 concurrent requests exactly one succeeds', async () => {
    const { id } = await made();
    for (let count = 0; count < 3; count += 1)
      assert.equal((await t.call('POST', `${api}/${id}/test`, { token })).status, 202);
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => t.call('DELETE', `${api}/${id}`, { token })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [
      204,
      ...Array.from({ length: 49 }, () => 404),
    ]);
    assert.equal((await t.call('GET', `${api}/${id}/deliveries`, { token })).status, 404);
    assert.deepEqual(await t.sql('select 1 from webhook_deliveries where subscription_id = $1', [id]), []);
  });
});

describe('GET /webhooks/{id}/deliveries', () => {
  it('200 newest first, with limit and offset', async () => {
    const { id } = await made({ events: ['agent.created'] });
    for (let count = 0; count < 5; count += 1) {
      t.clock.advance(1_000);
      const payload = newAgent({ organization_id: home, allowedScopes: [] });
      assert.equal((await t.call('POST', '/api/v1/agents', { token, payload })).status, 201);
    }
    const all = (await t.call('GET', `${api}/${id}/deliveries`, { token })).json;
    assert.deepEqual([all.total, all.limit, all.offset, all.deliveries.length], [5, 20, 0, 5]);
    const page = (await t.call('GET', `${api}/${id}/deliveries?limit=2&offset=3`, { token })).json;
    assert.deepEqual(page, { deliveries: all.deliveries.slice(3), total: 5, limit: 2, offset: 3 });
    const beyond = (await t.call('GET', `${api}/${id}/deliveries?offset=2147483647`, { token })).json;
    assert.deepEqual([beyond.deliveries, beyond.total], [[], 5]);
    const [{ payload, ...delivery }] = all.deliveries;
    assert.deepEqual(delivery, {
      id: delivery.id,
      subscription_id: id,
      event_type: 'agent.created',
      status: 'pending',
      http_status_code: null,
      attempt_count: 0,
      next_retry_at: null,
      delivered_at: null,
      created_at: payload.timestamp,
      updated_at: payload.timestamp,
      attempts: [],
    });
    assert.ok(all.deliveries[0].created_at > all.deliveries[4].created_at);
  });
  it('400 VALIDATION_ERROR for a limit above 100, below 1, or an invalid offset', async () => {
    const { id } = await made();
    const queries = ['limit=101', 'limit=0', 'limit=x', 'offset=-1', 'offset=2147483648', 'limit=1&limit=2'];
    for (const query of [...queries, 'offset=123456789012345678901', 'limit=1e1', 'offset=']) {
      const { status, json } = await t.call('GET', `${api}/${id}/deliveries?${query}`, { token });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], query);
    }
  });
});

describe('WEBHOOKS_ENABLED=false', () => {
  it('201 for a subscription, no deliveries for events; 403 FORBIDDEN for tests and replays', async () => {
    const off = await startApp({ WEBHOOKS_ENABLED: 'false' });
    const bearer = await off.token();
    const { status, json } = await off.call('POST', api, {
      token: bearer,
      payload: subscription({ events: ['*'] }),
    });
    assert.equal(status, 201);
    await off.agent();
    const deliveries = await off.call('GET', `${api}/${json.id}/deliveries`, { token: bearer });
    assert.equal(deliveries.json.total, 0);
    const paths: [string, object?][] = [
      ['test'],
      [`deliveries/${randomUUID()}/replay`],
      ['deliveries/replay', { since: new Date().toISOString() }],
    ];
    for (const [path, payload] of paths) {
      const refused = await off.call('POST', `${api}/${json.id}/${path}`, {
        token: bearer,
        ...(payload && { payload }),
      });
      assert.deepEqual([refused.status, refused.json.code], [403, 'FORBIDDEN']);
    }
  });
});

describe('DATA_ENCRYPTION_KEY', () => {
  it('absent: secrets are stored unencrypted, with a warning at start', async () => {
    const open = await startApp({ LOG_LEVEL: 'warn' });
    open.app.loops.start();
    assert.match(open.logs.join(''), /DATA_ENCRYPTION_KEY is not set/);
    const { json } = await open.call('POST', api, { token: await open.token(), payload: subscription() });
    const [row] = await open.sql<{ signing_secret: string }>(
      'select signing_secret from webhook_subscriptions',
    );
    assert.equal(row?.signing_secret, json.signingSecret);
  });
});
