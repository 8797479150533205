import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { execute, startApp, startOfMinute } from '../../../test/support/harness.ts';
import { insertApprovalRow } from '../../../test/support/scenarios/approval-rows.ts';
import { createTenant, requestToken, type Tenant } from '../../../test/support/scenarios/plans.ts';

const t = await startApp({ MULTI_TENANT: 'true' });
const minuteMs = 60_000;
const dayMs = 86_400_000;

const get = (token: string, query = '') => t.call('GET', `/api/v1/overview${query}`, { token });
const isoOf = (time: number) => new Date(time).toISOString();
const startOf = (time: number) => isoOf(time - (time % minuteMs));

/** A tenant whose first agent may read everything. */
const createReader = () => createTenant(t, { planTier: 'enterprise' });

const refuseToken = ({ clientId }: Tenant) =>
  t.askToken({ grant_type: 'client_credentials', client_id: clientId, client_secret: 'cs_wrong' });

/** Events as the log stores them; nothing links or seals them. */
const insertEvents = (
  { organizationId, agentId }: Tenant,
  count: number,
  {
    action,
    at,
    metadata = {},
    failed = false,
  }: { action: string; at: number; metadata?: object; failed?: boolean },
) =>
  t.sql(
    `insert into audit_events (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at, seal)
     select gen_random_uuid(), $1, $2, $3, $4, '192.0.2.1', 'test', $5::json, $6::timestamptz - number * interval '1 millisecond', ''
     from generate_series(1, $7::int) as number`,
    [
      organizationId,
      agentId,
      action,
      failed ? 'failure' : 'success',
      JSON.stringify(metadata),
      isoOf(at),
      count,
    ],
  );

const createCredential = async (agentId: string, expiresInMs: number, name?: string) =>
  (
    await t.call('POST', `/api/v1/agents/${agentId}/credentials`, {
      token: await t.token(),
      payload: { expiresAt: isoOf(t.clock.now() + expiresInMs), ...(name && { name }) },
    })
  ).json.credentialId as string;

describe('GET /overview', () => {
  it('200 with the tokens of each of the last 60 minutes, the current one last', async () => {
    startOfMinute(t.clock);
    const tenant = await createReader();
    const first = startOf(t.clock.now());
    t.clock.advance(10 * minuteMs);
    await requestToken(t, tenant);
    await requestToken(t, tenant);
    await refuseToken(tenant);
    const { status, json } = await get(await t.token(undefined, tenant));
    assert.equal(status, 200);
    const now = t.clock.now();
    assert.equal(json.organizationId, tenant.organizationId);
    assert.deepEqual(
      json.tokens.data.map(({ minute }: { minute: string }) => minute),
      Array.from({ length: 60 }, (_, index) => startOf(now - (59 - index) * minuteMs)),
    );
    assert.deepEqual(
      json.tokens.data.filter(({ issued, refused }: Record<string, number>) => issued || refused),
      [
        { minute: first, issued: 1, refused: 0 },
        { minute: startOf(now), issued: 3, refused: 1 },
      ],
    );
    assert.equal(json.tokens.truncatedBefore, null);
    t.clock.advance(51 * minuteMs);
    const later = (await get(await t.token(undefined, tenant))).json.tokens.data;
    assert.deepEqual([later[8].issued, later[8].refused], [3, 1]);
    assert.equal(
      later.reduce((sum: number, { issued }: { issued: number }) => sum + issued, 0),
      4,
    );
  });

  it('200 with the number of agents, by those that work and those that are suspended', async () => {
    const tenant = await createReader();
    const inTenant = { organization_id: tenant.organizationId };
    const [suspended, gone] = [await t.agent(inTenant), await t.agent(inTenant)];
    const admin = await t.token();
    const before = (await get(tenant.token)).json.agents;
    assert.deepEqual(before, { active: 3, suspended: 0 });
    const status = { status: 'suspended' };
    await t.call('PATCH', `/api/v1/agents/${suspended.agentId}`, { token: admin, payload: status });
    await t.call('DELETE', `/api/v1/agents/${gone.agentId}`, { token: admin });
    assert.deepEqual((await get(tenant.token)).json.agents, { active: 1, suspended: 1 });
    assert.deepEqual((await get(await t.token('agents:read', tenant))).json.agents, {
      active: 1,
      suspended: 1,
    });
  });

  it('200 with the tokens of the day, which begins at midnight of UTC or where the caller says', async () => {
    const tenant = await createReader();
    const hourMs = 60 * minuteMs;
    // Noon of the next day, for whole hours on both sides.
    t.clock.advance(dayMs - (t.clock.now() % dayMs) + 12 * hourMs);
    // The answer counts what was issued before: the tokens of createReader, at any time of yesterday.
    await get(await t.token());
    await t.sql('delete from token_hours where organization_id = $1', [tenant.organizationId]);
    const token = await t.token(undefined, tenant);
    const noon = t.clock.now() - (t.clock.now() % hourMs);
    const insert = (hoursAgo: number, tokens: number) =>
      t.sql('insert into token_hours values ($1, $2, 7, $3)', [
        tenant.organizationId,
        isoOf(noon - hoursAgo * hourMs),
        tokens,
      ]);
    for (const [hoursAgo, tokens] of [
      [12, 10],
      [13, 200],
      [47, 3_000],
      [49, 40_000],
    ] as const)
      await insert(hoursAgo, tokens);
    const read = async (startOfDay?: string) =>
      (await get(token, startOfDay === undefined ? '' : `?startOfDay=${encodeURIComponent(startOfDay)}`)).json
        .tokensToday;
    // One for the token of this test.
    assert.deepEqual(await read(), { since: isoOf(noon - 12 * hourMs), issued: 11 });
    const east = isoOf(noon - 13 * hourMs);
    assert.deepEqual(await read(east), { since: east, issued: 211 });
    assert.deepEqual(await read(east.replace('.000Z', '+00:00')), { since: east, issued: 211 });
    // Half an hour, as in India: from the start of its hour.
    const half = isoOf(noon - 12.5 * hourMs);
    assert.deepEqual(await read(half), { since: east, issued: 211 });
    // A clock that is wrong.
    assert.equal((await read('2001-01-01T00:00:00Z')).issued, 3_211);
    assert.deepEqual(await read('2999-01-01T00:00:00Z'), { since: isoOf(noon), issued: 1 });
  });

  for (const value of ['today', '2030-01-31', '2030-01-31T23:59:60Z'])
    it(`400 VALIDATION_ERROR for startOfDay=${value}`, async () => {
      const { status, json } = await get(await t.token(), `?startOfDay=${value}`);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
    });

  it('200 with the refusals of the last 24 hours by action and reason, the most frequent first', async () => {
    const tenant = await createReader();
    await insertEvents(tenant, 1, {
      ...{ action: 'token.refused', at: t.clock.now() - dayMs - 1_000, failed: true },
      metadata: { reason: 'too old' },
    });
    await insertEvents(tenant, 1, {
      ...{ action: 'refusals.suppressed', at: t.clock.now() - minuteMs, failed: true },
      metadata: { suppressed: 40, lastReason: 'x' },
    });
    await insertEvents(tenant, 2, {
      ...{ action: 'policy.refused', at: t.clock.now() - minuteMs, failed: true },
      metadata: { action: 'webhooks:write' },
    });
    for (let round = 0; round < 3; round += 1) await refuseToken(tenant);
    const { refusals, generatedAt } = (await get(tenant.token)).json;
    assert.equal(Date.parse(generatedAt) - Date.parse(refusals.since), dayMs);
    assert.equal(refusals.total, 45);
    assert.equal(refusals.truncatedBefore, null);
    const [suppressed, wrongSecret, policy] = refusals.data;
    assert.deepEqual(suppressed, { action: 'refusals.suppressed', reason: null, count: 40 });
    assert.deepEqual([wrongSecret.action, wrongSecret.count], ['token.refused', 3]);
    // A reader who tries the filter of the reference finds these.
    const { paths } = (await t.call('GET', '/openapi.json')).json;
    const filter = paths['/api/v1/audit'].get.parameters.find(
      ({ name }: { name: string }) => name === 'reason',
    );
    assert.equal(wrongSecret.reason, filter.examples.default.value);
    assert.deepEqual(policy, { action: 'policy.refused', reason: 'webhooks:write', count: 2 });
    assert.equal(refusals.data.length, 3);
  });

  it('200 with at most 20 reasons, each at most 200 characters, and the total of all', async () => {
    const tenant = await createReader();
    for (let reason = 10; reason < 35; reason += 1)
      await insertEvents(tenant, 1, {
        ...{ action: 'token.refused', at: t.clock.now(), failed: true },
        metadata: { reason: `${reason}${'é'.repeat(300)}` },
      });
    const { refusals } = (await get(tenant.token)).json;
    assert.deepEqual([refusals.data.length, refusals.total], [20, 25]);
    assert.equal(refusals.data[0].reason.length, 200);
  });

  it('200 with truncatedBefore when the period has more than 50,000 events', async () => {
    const tenant = await createReader();
    const at = t.clock.now() - minuteMs;
    await insertEvents(tenant, 1, { action: 'token.issued', at: at - 2 * minuteMs });
    await insertEvents(tenant, 49_999, { action: 'token.issued', at });
    const { tokens, refusals } = (await get(tenant.token)).json;
    const counted = tokens.data.reduce((sum: number, { issued }: { issued: number }) => sum + issued, 0);
    assert.equal(tokens.truncatedBefore, refusals.truncatedBefore);
    assert.ok(Date.parse(tokens.truncatedBefore) > at - minuteMs);
    assert.ok(counted > 49_900 && counted <= 50_000, `${counted} counted`);
  });

  it('200 with the active credentials that expire within 14 days, the next one first', async () => {
    const tenant = await createReader();
    const { agentId } = await t.agent({ organization_id: tenant.organizationId });
    const later = await createCredential(agentId, 13 * dayMs);
    const next = await createCredential(agentId, 2 * dayMs, 'ci');
    await createCredential(agentId, 15 * dayMs);
    const revoked = await createCredential(agentId, 3 * dayMs);
    await t.call('DELETE', `/api/v1/agents/${agentId}/credentials/${revoked}`, { token: await t.token() });
    const { expiringCredentials } = (await get(tenant.token)).json;
    assert.deepEqual(
      expiringCredentials.data.map(({ credentialId, name }: Record<string, unknown>) => [credentialId, name]),
      [
        [next, 'ci'],
        [later, null],
      ],
    );
    assert.equal(expiringCredentials.total, 2);
    assert.equal(expiringCredentials.data[0].agentId, agentId);
    assert.match(expiringCredentials.data[0].email, /@example\.com$/);
    t.clock.advance(2 * dayMs + 1_000);
    const left = (await get(await t.token(undefined, tenant))).json.expiringCredentials;
    assert.deepEqual(
      left.data.map(({ credentialId }: Record<string, unknown>) => credentialId).includes(next),
      false,
    );
  });

  it('200 with at most 100 expiring credentials, and their number', async () => {
    const tenant = await createReader();
    const { agentId } = await t.agent({ organization_id: tenant.organizationId });
    const insert = (count: number) =>
      t.sql(
        `insert into credentials (credential_id, agent_id, secret_hash, status, created_at, expires_at)
         select gen_random_uuid(), $1, sha256(random()::text::bytea), 'active', now(), $2::timestamptz + number * interval '1 second'
         from generate_series(1, $3::int) as number`,
        [agentId, isoOf(t.clock.now() + dayMs), count],
      );
    await insert(101);
    const some = (await get(tenant.token)).json.expiringCredentials;
    assert.deepEqual([some.data.length, some.total], [100, 101]);
    await insert(1_000);
    assert.equal((await get(tenant.token)).json.expiringCredentials.total, 1_000);
  });

  it('200 with the approvals that wait, and the median time of the decisions of the last 24 hours', async () => {
    const tenant = await createReader();
    const now = t.clock.now();
    const decided = (status: 'approved' | 'denied' | 'expired', agoMs: number, tookMs: number, of = tenant) =>
      insertApprovalRow(t.sql, {
        ...{ organizationId: of.organizationId, agentId: of.agentId, status, decidedBy: randomUUID() },
        ...{ createdAt: now - agoMs - tookMs, decidedAt: now - agoMs },
      });
    assert.deepEqual((await get(tenant.token)).json.approvals, { waiting: 0, medianDecisionSeconds: null });
    await decided('approved', 1_000, 10_000);
    await decided('denied', 1_000, 20_500);
    await decided('approved', 23 * 3_600_000, 20 * 3_600_000);
    // None of these counts: too old, not decided by a person, of another organization.
    await decided('approved', 25 * 3_600_000, 1_000);
    await decided('expired', 1_000, 1_000);
    await decided('denied', 1_000, 1_000, await createReader());
    const { organizationId, agentId } = tenant;
    const pending = { organizationId, agentId, status: 'pending' as const };
    await insertApprovalRow(t.sql, { ...pending, createdAt: now - 1_000 });
    await insertApprovalRow(t.sql, { ...pending, createdAt: now - 1_000, expiresAt: now - 1 });
    assert.deepEqual((await get(tenant.token)).json.approvals, { waiting: 1, medianDecisionSeconds: 20.5 });
    const without = await t.token('agents:read', tenant);
    assert.equal((await get(without)).json.approvals, null);
  });

  it('200 with the webhooks that fail, the most recent failure first', async () => {
    const tenant = await createReader();
    const other = await createReader();
    const createWebhook = async (
      name: string,
      { organizationId }: Tenant,
      statuses: Record<string, number>,
    ) => {
      const id = randomUUID();
      await t.sql(
        `insert into webhook_subscriptions
           (subscription_id, organization_id, name, url, events, active, signing_secret, created_at, updated_at)
         values ($1, $2, $3, 'https://hooks.example.com/' || $3, '{*}', true, 'x', now(), now())`,
        [id, organizationId, name],
      );
      for (const [status, count] of Object.entries(statuses))
        await t.sql(
          `insert into webhook_deliveries
             (delivery_id, subscription_id, event_id, event_type, payload, status, attempts, created_at, updated_at)
           select gen_random_uuid(), $1, gen_random_uuid(), 'agent.created', '{}', $2,
                  jsonb_build_array('{"error": "old"}'::jsonb, $3::jsonb), now() + number * interval '1 second', now()
           from generate_series(1, $4::int) as number`,
          [
            id,
            status,
            JSON.stringify(
              status === 'failed'
                ? { error: null, http_status_code: 503 }
                : { error: 'connection refused', http_status_code: null },
            ),
            count,
          ],
        );
      return id;
    };
    await createWebhook('healthy', tenant, { delivered: 3, pending: 1 });
    const dead = await createWebhook('dead', tenant, { dead_letter: 2, delivered: 1 });
    const failing = await createWebhook('failing', tenant, { failed: 1_200 });
    await createWebhook('foreign', other, { failed: 1 });
    const { failingDeliveries } = (await get(tenant.token)).json;
    assert.deepEqual(
      failingDeliveries.map(({ lastFailedAt, ...rest }: Record<string, unknown>) => rest),
      [
        {
          ...{ id: failing, name: 'failing', url: 'https://hooks.example.com/failing', active: true },
          ...{ failed: 1_000, deadLetter: 0, lastError: 'HTTP status 503' },
        },
        {
          ...{ id: dead, name: 'dead', url: 'https://hooks.example.com/dead', active: true },
          ...{ failed: 0, deadLetter: 2, lastError: 'connection refused' },
        },
      ],
    );
  });

  it('200 with the result of the watch of the audit log, for the own organization only', async () => {
    const own = await startApp();
    const read = async (token: string) => (await own.call('GET', '/api/v1/overview', { token })).json.audit;
    const [tenant, other] = [await createTenant(own), await createTenant(own)];
    assert.deepEqual(await read(tenant.token), { intact: true, checkedAt: null });
    await own.app.audit.watch();
    const { intact, checkedAt } = await read(tenant.token);
    assert.equal(intact, true);
    assert.ok(Math.abs(Date.parse(checkedAt) - own.clock.now()) < minuteMs);
    await execute(
      own.databaseUrl,
      `set session_replication_role = replica;
       update audit_events set user_agent = 'edited' where organization_id = '${tenant.organizationId}'`,
    );
    for (let round = 0; round < 3; round += 1) await own.app.audit.watch();
    assert.equal((await read(tenant.token)).intact, false);
    assert.equal((await read(other.token)).intact, true);
  });

  it('200 with null for the parts that need a scope which the caller lacks', async () => {
    const tenant = await createReader();
    const read = async (scopes: string[]) => {
      const agent = await t.agent({ organization_id: tenant.organizationId, allowedScopes: scopes });
      const { json } = await get(await t.token(undefined, agent));
      return [json.tokens, json.refusals, json.audit, json.failingDeliveries].map((part) => part !== null);
    };
    assert.deepEqual(await read(['agents:read']), [false, false, false, false]);
    assert.deepEqual(await read(['agents:read', 'audit:read']), [true, true, true, false]);
    assert.deepEqual(await read(['agents:read', 'webhooks:read']), [false, false, false, true]);
  });

  it('403 INSUFFICIENT_SCOPE without agents:read', async () => {
    const { organizationId } = await createReader();
    const agent = await t.agent({ organization_id: organizationId, allowedScopes: ['audit:read'] });
    const { status, json } = await get(await t.token(undefined, agent));
    assert.deepEqual([status, json.code], [403, 'INSUFFICIENT_SCOPE']);
  });

  it('200 with first steps that follow the first agent, its credential and its token', async () => {
    const tenant = await createReader();
    const admin = await t.token();
    const read = async () => (await get(tenant.token)).json.firstSteps;
    const nothing = { agents: false, credentials: false, tokens: false, agentId: null };
    assert.deepEqual(await read(), nothing);
    const { agentId } = (
      await t.call('POST', '/api/v1/agents', {
        token: admin,
        payload: {
          ...{ email: `first-${randomUUID()}@example.com`, agentType: 'custom', version: '1.0.0' },
          ...{ capabilities: ['a:b'], owner: 'team', deploymentEnv: 'development' },
          organization_id: tenant.organizationId,
        },
      })
    ).json;
    assert.deepEqual(await read(), { ...nothing, agents: true, agentId });
    const { clientId, clientSecret } = (
      await t.call('POST', `/api/v1/agents/${agentId}/credentials`, { token: admin })
    ).json;
    assert.deepEqual(await read(), { ...nothing, agents: true, credentials: true, agentId });
    await requestToken(t, { clientId, clientSecret });
    assert.deepEqual(await read(), { agents: true, credentials: true, tokens: true, agentId });
    await t.call('DELETE', `/api/v1/agents/${agentId}`, { token: admin });
    assert.deepEqual(await read(), { agents: true, credentials: true, tokens: true, agentId: null });
  });

  it('200 for an operator that names another organization; by default its own', async () => {
    const tenant = await createReader();
    const operator = await t.token();
    const named = (await get(operator, `?organizationId=${tenant.organizationId.toUpperCase()}`)).json;
    assert.equal(named.organizationId, tenant.organizationId);
    assert.equal(
      named.tokens.data.reduce((sum: number, { issued }: { issued: number }) => sum + issued, 0),
      1,
    );
    assert.equal((await get(operator)).json.organizationId, t.operator.organizationId);
  });

  it('404 ORG_NOT_FOUND for another organization and for one that does not exist', async () => {
    const [tenant, other] = [await createReader(), await createReader()];
    const foreign = await get(tenant.token, `?organizationId=${other.organizationId}`);
    const invented = await get(tenant.token, `?organizationId=${randomUUID()}`);
    assert.deepEqual([foreign.status, foreign.json.code], [404, 'ORG_NOT_FOUND']);
    assert.equal(foreign.text, invented.text);
    const unknown = await get(await t.token(), `?organizationId=${randomUUID()}`);
    assert.deepEqual([unknown.status, unknown.json.code], [404, 'ORG_NOT_FOUND']);
  });

  for (const value of ['1', 'nil', '', '%00']) {
    it(`400 VALIDATION_ERROR for organizationId=${value}`, async () => {
      const { status, json } = await get(await t.token(), `?organizationId=${value}`);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
    });
  }
});
