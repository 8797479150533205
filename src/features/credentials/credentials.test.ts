import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, newAgent, startApp } from '../../../test/support/harness.ts';
import { sql } from '../../kernel/data/sql.ts';

const t = await startApp({ LOG_LEVEL: 'trace' });
const operator = await t.token();
const makeAgent = async (changes: Record<string, unknown> = {}): Promise<string> =>
  (await t.call('POST', '/api/v1/agents', { token: operator, payload: newAgent(changes) })).json.agentId;

const generate = (agentId: string, body?: object, token = operator): Promise<Answer> =>
  t.call('POST', `/api/v1/agents/${agentId}/credentials`, { token, ...(body && { payload: body }) });
const rowsOf = (agentId: string) =>
  t.sql<Record<string, unknown> & { secret_hash: Buffer }>('select * from credentials where agent_id = $1', [
    agentId,
  ]);
const eventsOf = (agentId: string) =>
  t.sql<{ metadata: object; organization_id: string }>(
    "select * from audit_events where action = 'credential.generated' and agent_id = $1",
    [agentId],
  );

describe('POST /agents/{agentId}/credentials', () => {
  it('201 with the secret, shown once and stored as a hash only', async () => {
    const agentId = await makeAgent();
    const { status, headers, json } = await generate(agentId);
    assert.equal(status, 201);
    const { credentialId, clientSecret, createdAt } = json;
    assert.match(credentialId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.match(clientSecret, /^cs_[\w-]{43}$/);
    assert.deepEqual(json, {
      credentialId,
      clientId: agentId,
      name: null,
      clientSecret,
      status: 'active',
      createdAt,
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
    });
    assert.equal(headers['cache-control'], 'no-store');

    const [row, ...others] = await rowsOf(agentId);
    assert.ok(row && others.length === 0);
    assert.deepEqual(row.secret_hash, createHash('sha256').update(clientSecret).digest());
    const events = await eventsOf(agentId);
    assert.equal(events.length, 1);
    assert.equal(events[0]?.organization_id, t.operator.organizationId);
    const kept = JSON.stringify([row, events, t.logs]);
    assert.ok(!kept.includes(clientSecret) && !kept.includes(clientSecret.slice(3)));
  });

  it('201 for further credentials; each secret is unique and works', async () => {
    const agentId = await makeAgent();
    const made = await Promise.all(Array.from({ length: 6 }, () => generate(agentId)));
    const secrets = made.map(({ json }) => json.clientSecret);
    assert.equal(new Set(secrets).size, 6);
    for (const clientSecret of secrets) await t.token(undefined, { clientId: agentId, clientSecret });
  });

  const bodies: [string, string | undefined, Record<string, string>][] = [
    ['no body', undefined, {}],
    ['no body, but its type', '', { 'content-type': 'application/json' }],
    ['an empty object', '{}', { 'content-type': 'application/json' }],
  ];
  for (const [what, payload, headers] of bodies) {
    it(`201 with ${what}`, async () => {
      const answer = await t.call('POST', `/api/v1/agents/${await makeAgent()}/credentials`, {
        token: operator,
        headers,
        ...(payload !== undefined && { payload }),
      });
      assert.deepEqual([answer.status, answer.json.expiresAt], [201, null]);
    });
  }
});

describe('expiresAt', () => {
  const accepted: [string, string][] = [
    ['2099-12-31T23:59:59.000Z', '2099-12-31T23:59:59.000Z'],
    ['2099-12-31T23:59:59Z', '2099-12-31T23:59:59.000Z'],
    ['2099-12-31T23:59:59.123456Z', '2099-12-31T23:59:59.123Z'],
    ['2100-01-01T01:00:00+05:30', '2099-12-31T19:30:00.000Z'],
    ['2096-02-29T00:00:00Z', '2096-02-29T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ];
  for (const [given, kept] of accepted) {
    it(`201 for ${given}, stored in UTC`, async () => {
      const agentId = await makeAgent();
      assert.equal((await generate(agentId, { expiresAt: given })).json.expiresAt, kept);
      assert.deepEqual((await rowsOf(agentId))[0]?.expires_at, new Date(kept));
    });
  }
  const now = new Date(t.clock.now()).toISOString();
  const refused: unknown[] = [
    ...['', 'tomorrow', '2099-12-31', '23:59:59Z', '2099-12-31T23:59:59', '4102444800', 4_102_444_800],
    ...['2099-02-30T00:00:00Z', '2099-13-01T00:00:00Z', '2099-01-01T24:00:00Z', '2098-12-31T23:59:60Z'],
    ...['+275760-09-13T00:00:00.000Z', '275760-09-13T00:00:00Z', '9999-12-31T23:59:59-23:59'],
    ...['2001-01-01T00:00:00Z', '0000-01-01T00:00:00Z', '-000001-01-01T00:00:00Z', now],
    ...[true, [], {}, '2099-12-31T23:59:59Z\u0000', `2099-12-31T23:59:59.${'9'.repeat(100_000)}x`],
  ];
  for (const expiresAt of refused) {
    it(`400 VALIDATION_ERROR for ${JSON.stringify(expiresAt).slice(0, 40)}`, async () => {
      const { status, json } = await generate(t.operator.agentId, { expiresAt });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
    });
  }
  it('400 VALIDATION_ERROR names the field, also an unknown one', async () => {
    for (const body of [
      { expiresAt: now },
      { expires_at: '2099-12-31T23:59:59Z' },
      { clientSecret: 'mine' },
    ]) {
      const { status, json } = await generate(t.operator.agentId, body);
      assert.equal(status, 400);
      assert.equal(json.details.fields[0].field, Object.keys(body)[0]);
    }
  });
  it('ends the secret at that moment', async () => {
    const agentId = await makeAgent();
    const expiresAt = new Date(t.clock.now() + 60_000).toISOString();
    const { clientSecret } = (await generate(agentId, { expiresAt })).json;
    const fields = { grant_type: 'client_credentials', client_id: agentId, client_secret: clientSecret };
    assert.equal((await t.askToken(fields)).status, 200);
    t.clock.advance(60_000);
    const answer = await t.askToken(fields);
    assert.deepEqual([answer.status, answer.json.error], [401, 'invalid_client']);
  });
});

describe('refusals', () => {
  const assertNothing = async (answer: Answer, status: number, code: string, agentId: string) => {
    assert.deepEqual([answer.status, answer.json.code], [status, code]);
    assert.equal((await rowsOf(agentId)).length, 0);
    assert.equal((await eventsOf(agentId)).length, 0);
  };

  for (const status of ['suspended', 'decommissioned']) {
    it(`403 AGENT_NOT_ACTIVE when the agent is ${status}`, async () => {
      const agentId = await makeAgent();
      await t.sql('update agents set status = $2 where agent_id = $1', [agentId, status]);
      await assertNothing(await generate(agentId), 403, 'AGENT_NOT_ACTIVE', agentId);
    });
  }
  it('404 AGENT_NOT_FOUND for an unknown agent and for another organization’s, alike', async () => {
    const { organizationId } = await t.app.db.transaction((tx) =>
      t.app.organizations.register(
        tx,
        { requestId: 'test', ipAddress: '', userAgent: '', agentId: t.operator.agentId },
        { name: 'Other', slug: 'other', planTier: 'pro' },
      ),
    );
    const foreign = await makeAgent({ organization_id: organizationId });
    const ourToken = await t.token(undefined, await t.agent());
    const answer = await generate(foreign, {}, ourToken);
    await assertNothing(answer, 404, 'AGENT_NOT_FOUND', foreign);
    assert.equal((await generate(crypto.randomUUID(), {}, ourToken)).text, answer.text);
    assert.equal((await generate(foreign)).status, 201);
  });
  it('400 VALIDATION_ERROR for a malformed id', async () => {
    const { status, json } = await generate('me');
    assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
  });
  it('403 FORBIDDEN when the agent may hold more than the caller’s token', async () => {
    const agentId = await makeAgent({ allowedScopes: ['agents:write', 'audit:read'] });
    const narrow = await t.token('agents:write', await t.agent());
    await assertNothing(await generate(agentId, {}, narrow), 403, 'FORBIDDEN', agentId);
    const enough = await t.token('agents:write audit:read', await t.agent());
    assert.equal((await generate(agentId, {}, enough)).status, 201);
    // Also for the agent itself, when its token has fewer scopes than the agent.
    const self = await t.agent();
    assert.equal((await generate(self.agentId, {}, await t.token('agents:write', self))).status, 403);
    assert.equal((await generate(t.operator.agentId, {}, enough)).status, 403);
  });
  it('500 INTERNAL_SERVER_ERROR and nothing changed when the audit row cannot be written', async () => {
    const agentId = await makeAgent();
    await t.sql(
      "create function refuse() returns trigger language plpgsql as $$ begin raise 'disk on fire'; end $$",
    );
    await t.sql('create trigger refuse before insert on audit_events for each row execute function refuse()');
    let answer: Answer;
    try {
      answer = await generate(agentId);
    } finally {
      await t.sql('drop function refuse cascade');
    }
    assert.doesNotMatch(answer.text, /cs_|fire/);
    await assertNothing(answer, 500, 'INTERNAL_SERVER_ERROR', agentId);
  });
  it('403 AGENT_NOT_ACTIVE when a concurrent suspension commits first', async () => {
    const agentId = await makeAgent();
    const { pending } = await t.app.db.transaction(async (tx) => {
      await tx.run('test', sql`update agents set status = 'suspended' where agent_id = ${agentId}`);
      let settled = false;
      const pending = generate(agentId).finally(() => (settled = true));
      const waiting =
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      while (!settled && (await t.sql(waiting)).length === 0) await sleep(5);
      return { pending };
    });
    await assertNothing(await pending, 403, 'AGENT_NOT_ACTIVE', agentId);
  });
});
