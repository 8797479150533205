/** Signing in with a client id and its secret. links.test.ts has the one-time links. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp, startOfMinute } from '../../../../test/support/harness.ts';
import {
  type Client,
  cookieIn,
  createConsoleClient,
  fromPage,
  sessionUrl,
  startConsoleApp,
} from '../../../../test/support/scenarios/console.ts';

const t = await startConsoleApp();
const web = createConsoleClient(t);
const { operator } = t;
const { operate } = web;
const hash = (text: string) => createHash('sha256').update(text).digest();
const secretOf = ({ clientId, clientSecret }: Client) => ({ clientId, clientSecret });

interface Recorded {
  readonly action: string;
  readonly outcome: string;
  readonly agent_id: string;
  readonly organization_id: string;
  readonly metadata: Record<string, unknown>;
}

const eventsOf = (agentId: string): Promise<Recorded[]> =>
  t.sql(
    `select action, outcome, agent_id, organization_id, metadata from audit_events
     where action like 'session.%' and agent_id = $1 order by event_id`,
    [agentId],
  );

describe('POST /console/api/session', () => {
  it('204 with a cookie for a client id and its secret', async () => {
    const answer = await web.signIn(secretOf(operator));
    assert.deepEqual([answer.status, answer.text], [204, '']);
    assert.match(
      String(answer.headers['set-cookie']),
      /^countersign=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    assert.equal(answer.headers['cache-control'], 'no-store');
  });

  it('204 with __Host- and Secure on an instance with https, and the session works', async () => {
    const https = await startConsoleApp({ BASE_URL: 'https://id.example.com' }, t);
    const answer = await createConsoleClient(https).signIn(secretOf(operator));
    assert.match(
      String(answer.headers['set-cookie']),
      /^__Host-countersign=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
    const ask = async (cookie: string) =>
      (await createConsoleClient(https).call(cookie, 'GET', sessionUrl)).status;
    assert.equal(await ask(cookieIn(answer)), 200);
    // A cookie without the prefix may come from another host of the domain.
    assert.equal(await ask(cookieIn(answer).replace('__Host-', '')), 401);
  });

  for (const host of ['127.0.0.1:3000', '127.8.9.1', '[::1]:8080', 'app.localhost', 'localhost'])
    it(`204 without Secure at http://${host}`, async () => {
      const app = await startConsoleApp({ BASE_URL: `http://${host}` }, t);
      const answer = await createConsoleClient(app).signIn(secretOf(operator));
      assert.match(
        String(answer.headers['set-cookie']),
        /^countersign=[^;]+; Path=\/; HttpOnly; SameSite=Strict$/,
      );
    });

  for (const host of ['id.example.com', '10.0.0.1', 'localhost.example.com', 'notlocalhost'])
    it(`403 FORBIDDEN at http://${host}, and the message says why`, async () => {
      const app = await startConsoleApp({ BASE_URL: `http://${host}` }, t);
      const answer = await createConsoleClient(app).signIn(secretOf(operator));
      assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN']);
      assert.match(answer.json.message, /plain http.*BASE_URL.*https:\/\//);
      assert.equal(answer.headers['set-cookie'], undefined);
    });

  it('stores only a hash of the cookie', async () => {
    const secret = (await web.cookieOf(operator)).split('=')[1] ?? '';
    const rows = await t.sql<{ row: string }>('select s::text as row from console_sessions s');
    assert.ok(rows.length > 0);
    assert.ok(rows.every(({ row }) => !row.includes(secret)));
    const [found] = await t.sql('select 1 from console_sessions where secret_hash = $1', [hash(secret)]);
    assert.ok(found);
    assert.ok(t.logs.every((line) => !line.includes(secret)));
  });

  it('204 makes a new session each time and ends the one of the request: no fixation', async () => {
    const client = await t.agent();
    const chosen = `countersign=${'A'.repeat(43)}`;
    const first = cookieIn(await web.signIn(secretOf(client), { cookie: chosen }));
    assert.notEqual(first, chosen);
    assert.equal((await web.call(chosen, 'GET', sessionUrl)).status, 401);
    const second = cookieIn(await web.signIn(secretOf(client), { cookie: first }));
    assert.notEqual(second, first);
    assert.equal((await web.call(first, 'GET', sessionUrl)).status, 401);
    assert.equal((await web.call(second, 'GET', sessionUrl)).status, 200);
    assert.deepEqual(
      (await eventsOf(client.agentId)).map(({ action, metadata }) => [action, metadata.reason]),
      [
        ['session.created', undefined],
        ['session.ended', 'signed in again'],
        ['session.created', undefined],
      ],
    );
  });

  it('204 records session.created with the method, and the use of the credential', async () => {
    const client = await t.agent();
    await web.cookieOf(client);
    const [created, ...others] = await eventsOf(client.agentId);
    assert.deepEqual(others, []);
    assert.deepEqual([created?.action, created?.outcome], ['session.created', 'success']);
    assert.equal(created?.organization_id, operator.organizationId);
    assert.equal(created?.metadata.method, 'client');
    const { data } = (
      await t.call('GET', `/api/v1/agents/${client.agentId}/credentials`, { token: await t.token() })
    ).json;
    assert.equal(created?.metadata.credentialId, data[0].credentialId);
    assert.notEqual(data[0].lastUsedAt, null);
    assert.ok(!JSON.stringify(created).includes(client.clientSecret));
  });

  it('400 VALIDATION_ERROR for a body without either proof, with both, or with other fields', async () => {
    const { clientId, clientSecret } = operator;
    for (const body of [
      {},
      { clientId },
      { clientSecret },
      { clientId, clientSecret, code: 'x' },
      { code: 'x', clientId },
      { code: '' },
      { code: 7 },
      { clientId, clientSecret, remember: true },
      { clientId: 'x'.repeat(256), clientSecret },
      { clientId, clientSecret: 'x'.repeat(1025) },
    ]) {
      const answer = await web.signIn(body);
      assert.deepEqual([answer.status, answer.json.code], [400, 'VALIDATION_ERROR'], JSON.stringify(body));
    }
  });

  it('401 UNAUTHORIZED alike for an unknown client, a wrong secret and a client id that is no UUID', async () => {
    const client = await t.agent();
    const wrong = [
      { ...secretOf(client), clientSecret: 'cs_wrong' },
      { ...secretOf(client), clientId: crypto.randomUUID() },
      { ...secretOf(client), clientId: "' or 1=1 --" },
      { ...secretOf(client), clientSecret: operator.clientSecret },
    ];
    const answers = [];
    for (const body of wrong) answers.push(await web.signIn(body));
    for (const { status, json, headers } of answers) {
      assert.deepEqual([status, json], [401, answers[0]?.json]);
      assert.equal(headers['set-cookie'], undefined);
      assert.doesNotMatch(String(headers['www-authenticate'] ?? ''), /Basic/);
    }
    assert.match(answers[0]?.json.message, /^Client authentication failed: check the client id/);
  });

  it('401 UNAUTHORIZED records session.refused, within the limits of refusals', async () => {
    startOfMinute(t.clock);
    const organization = await operate('POST', '/organizations', {
      name: 'Refused',
      slug: `refused-${crypto.randomUUID().slice(0, 8)}`,
      planTier: 'pro',
    });
    const client = await t.agent({ organization_id: organization.organizationId });
    for (let count = 0; count < 70; count += 1)
      assert.equal((await web.signIn({ ...secretOf(client), clientSecret: 'cs_wrong' })).status, 401);
    const refused = await eventsOf(client.agentId);
    assert.equal(refused.length, 60);
    const [{ action, outcome, organization_id, metadata } = assert.fail()] = refused;
    assert.deepEqual(
      [action, outcome, organization_id, metadata.method],
      ['session.refused', 'failure', organization.organizationId, 'client'],
    );
    assert.match(String(metadata.reason), /client authentication failed/);
    startOfMinute(t.clock);
  });

  it('401 UNAUTHORIZED for a revoked, an expired and a replaced secret', async () => {
    const client = await t.agent();
    const path = `/agents/${client.agentId}/credentials`;
    const make = (payload = {}) => operate('POST', path, payload);
    const [revoked, rotated, expiring] = [
      await make(),
      await make(),
      await make({ expiresAt: new Date(t.clock.now() + 60_000).toISOString() }),
    ];
    await operate('DELETE', `${path}/${revoked.credentialId}`);
    await operate('POST', `${path}/${rotated.credentialId}/rotate`);
    t.clock.advance(61_000);
    for (const credential of [revoked, rotated, expiring])
      assert.equal((await web.signIn(secretOf(credential))).status, 401);
  });

  it('401 UNAUTHORIZED for a suspended agent, 403 ORG_SUSPENDED in a suspended organization; each is recorded', async () => {
    const agent = await t.agent();
    await operate('PATCH', `/agents/${agent.agentId}`, { status: 'suspended' });
    const answer = await web.signIn(secretOf(agent));
    assert.deepEqual([answer.status, answer.json.message], [401, 'The agent is suspended.']);
    const { organizationId } = await operate('POST', '/organizations', {
      name: 'Other',
      slug: `suspended-${crypto.randomUUID().slice(0, 8)}`,
      planTier: 'pro',
    });
    const foreign = await t.agent({ organization_id: organizationId });
    await operate('PATCH', `/organizations/${organizationId}`, { status: 'suspended' });
    const refused = await web.signIn(secretOf(foreign));
    assert.deepEqual([refused.status, refused.json.code], [403, 'ORG_SUSPENDED']);
    // A wrong secret learns nothing of it.
    const wrong = await web.signIn({ ...secretOf(foreign), clientSecret: 'cs_wrong' });
    assert.deepEqual([wrong.status, wrong.json.code], [401, 'UNAUTHORIZED']);
    for (const { agentId } of [agent, foreign])
      assert.equal((await eventsOf(agentId)).at(-1)?.action, 'session.refused');
  });

  it('401 UNAUTHORIZED for the secret of an agent that demands a proof of possession; recorded', async () => {
    const agent = await t.agent({ dpopBoundAccessTokens: true });
    const answer = await web.signIn(secretOf(agent));
    assert.equal(answer.status, 401);
    assert.match(answer.json.message, /proof of possession \(DPoP\).*POST \/api\/v1\/console\/links/);
    const event = (await eventsOf(agent.agentId)).at(-1);
    assert.equal(event?.action, 'session.refused');
    // A wrong secret learns nothing of it.
    const wrong = await web.signIn({ ...secretOf(agent), clientSecret: 'cs_wrong' });
    assert.doesNotMatch(wrong.json.message, /DPoP/);
  });

  it('415 and 413 come in the envelope', async () => {
    const form = await t.call('POST', sessionUrl, {
      payload: 'clientId=x',
      headers: { ...fromPage, 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.deepEqual([form.status, form.json.code], [415, 'UNSUPPORTED_MEDIA_TYPE']);
    const large = await web.signIn({ clientId: 'x'.repeat(300_000), clientSecret: 'x' });
    assert.deepEqual([large.status, large.json.code], [413, 'PAYLOAD_TOO_LARGE']);
  });

  it('one secret valid at the end: sign-ins that race with a rotation leave no session of the old secret', async () => {
    const client = await t.agent();
    const path = `/agents/${client.agentId}/credentials`;
    const [{ credentialId } = assert.fail()] = (
      await t.call('GET', `/api/v1${path}`, { token: await t.token() })
    ).json.data;
    const token = await t.token();
    const [rotated, ...answers] = await Promise.all([
      t.call('POST', `/api/v1${path}/${credentialId}/rotate`, { token }),
      ...Array.from({ length: 20 }, () => web.signIn(secretOf(client))),
    ]);
    assert.equal(rotated.status, 200);
    assert.ok(answers.every(({ status }) => [204, 401].includes(status)));
    assert.equal((await web.signIn(secretOf(client))).status, 401);
  });
});

describe('the rate limit of signing in', () => {
  it('429 RATE_LIMIT_EXCEEDED: wrong secrets count against the address, never against the client', async () => {
    const limited = await startConsoleApp({ RATE_LIMIT_PER_MINUTE: '10' }, t);
    const client = createConsoleClient(limited);
    startOfMinute(t.clock);
    const agent = await t.agent();
    const attacker = (body: object) =>
      limited.call('POST', sessionUrl, { payload: body, headers: fromPage, remoteAddress: '192.0.2.9' });
    const statuses = [];
    for (let count = 0; count < 12; count += 1)
      statuses.push((await attacker({ ...secretOf(agent), clientSecret: 'cs_wrong' })).status);
    assert.deepEqual(statuses, [...Array(10).fill(401), 429, 429]);
    // Malformed requests count against the address too.
    assert.equal((await attacker({})).status, 429);
    const own = await client.signIn(secretOf(agent));
    assert.deepEqual([own.status, own.headers['x-ratelimit-remaining']], [204, '9']);
  });

  it('a right secret counts against the client', async () => {
    const limited = await startConsoleApp({ RATE_LIMIT_PER_MINUTE: '3' }, t);
    startOfMinute(t.clock);
    const agent = await t.agent();
    const statuses = [];
    for (let count = 0; count < 4; count += 1)
      statuses.push((await createConsoleClient(limited).signIn(secretOf(agent))).status);
    assert.deepEqual(statuses, [204, 204, 204, 429]);
  });
});

it('an instance at a public address on plain http has no sessions, with any cookie', async () => {
  const app = await startApp({ BASE_URL: 'http://id.example.com' }, t);
  const cookie = await web.cookieOf(operator);
  assert.equal((await web.call(cookie, 'GET', sessionUrl)).status, 200);
  assert.equal((await createConsoleClient(app).call(cookie, 'GET', sessionUrl)).status, 401);
});
