import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { exportJWK, SignJWT } from 'jose';
import { keepOpen, startApp } from '../../../test/support/harness.ts';
import {
  concurrently,
  countByStatus,
  createTenant,
  insertMonthUsage,
  insertTokenUsage,
  requestToken,
  type Tenant,
  untilMidnight,
  untilNextMonth,
} from '../../../test/support/scenarios/plans.ts';
import { sql } from '../../kernel/data/sql.ts';

const t = await startApp({ DATABASE_POOL_SIZE: '10' });

const perDay = 1_000;
const perMonth = 10_000;

const patch = async (tenant: Tenant, payload: object) => {
  const url = `/api/v1/organizations/${tenant.organizationId}`;
  assert.equal((await t.call('PATCH', url, { token: await t.token(), payload })).status, 200);
};
/** The counts of today and of this month, as stored. */
const counted = async ({ organizationId, agentId }: Tenant) => {
  const today = new Date(t.clock.now()).toISOString().slice(0, 10);
  const [row] = await t.sql<{ day: number; month: number; days: number }>(
    `select (select coalesce(sum(tokens), 0)::int from token_hours
             where organization_id = $1 and (hour at time zone 'UTC')::date = $3::date) as day,
            (select coalesce(sum(tokens), 0)::int from token_months
             where agent_id = $2 and month = date_trunc('month', $3::date)::date) as month,
            (select coalesce(sum(quantity), 0)::int from usage_days
             where agent_id = $2 and day = $3::date and metric = 'tokens_issued') as days`,
    [organizationId, agentId, today],
  );
  return row;
};
const refusals = ({ agentId }: Tenant) =>
  t.sql<{ metadata: Record<string, unknown> }>(
    "select metadata from audit_events where agent_id = $1 and action = 'token.refused' and outcome = 'failure'",
    [agentId],
  );

describe('the daily limit of tokens', () => {
  it('403 unauthorized_client: of fifty concurrent requests, one token before the limit, exactly one is issued', async () => {
    const tenant = await createTenant(t);
    await insertTokenUsage(t.sql, tenant, perDay - 2, t.clock.now());
    const answers = await concurrently(50, () => requestToken(t, tenant));
    assert.deepEqual(countByStatus(answers), { 200: 1, 403: 49 });
    const { json } = answers.find(({ status }) => status === 403) ?? {};
    assert.deepEqual(Object.keys(json), ['error', 'error_description']);
    assert.equal(json.error, 'unauthorized_client');
    const resetsAt = new Date(t.clock.now() + untilMidnight(t.clock.now())).toISOString();
    assert.match(json.error_description, /1000 tokens of today \(plan: free\)/);
    assert.ok(json.error_description.includes(resetsAt), json.error_description);
    assert.deepEqual(await counted(tenant), { day: perDay, month: perDay, days: 2 });
    const written = await refusals(tenant);
    assert.equal(written.length, 49);
    const { requestId: _, ...metadata } = written[0]?.metadata ?? {};
    assert.deepEqual(metadata, {
      reason: 'tokens_per_day reached',
      limitType: 'tokens_per_day',
      limit: perDay,
      resetsAt,
    });
    const { text } = await t.call('GET', '/metrics');
    const labels = `org_id="${tenant.organizationId}",limit_type="tokens_per_day"`;
    assert.ok(text.includes(`service_billing_limit_rejections_total{${labels}} 49`));
  });
  it('is shared by the agents of an organization', async () => {
    const tenant = await createTenant(t);
    const colleague = await t.agent({ organization_id: tenant.organizationId });
    await insertTokenUsage(t.sql, tenant, perDay - 4, t.clock.now());
    const answers = await concurrently(10, (index) => requestToken(t, index % 2 ? tenant : colleague));
    assert.deepEqual(countByStatus(answers), { 200: 3, 403: 7 });
  });
  it('does not count requests that are refused for another reason', async () => {
    const tenant = await createTenant(t);
    const { clientId: client_id, clientSecret: client_secret } = tenant;
    const form = { grant_type: 'client_credentials', client_id, client_secret };
    await concurrently(5, () => t.askToken({ ...form, client_secret: 'cs_wrong' }));
    await concurrently(5, () => t.askToken({ ...form, scope: 'admin:orgs' }));
    assert.deepEqual(await counted(tenant), { day: 1, month: 1, days: 1 });
  });
  it('other organizations in the same batch are not refused with it', async () => {
    const [full, free, enterprise] = [
      await createTenant(t),
      await createTenant(t),
      await createTenant(t, { planTier: 'enterprise' }),
    ];
    await insertTokenUsage(t.sql, full, perDay, t.clock.now());
    const tenants = [full, free, enterprise, full, free, enterprise];
    const answers = await Promise.all(tenants.map((tenant) => requestToken(t, tenant)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [403, 200, 200, 403, 200, 200],
    );
  });
  it('follows a change of plan at once; enterprise has no limit', async () => {
    const tenant = await createTenant(t);
    await insertTokenUsage(t.sql, tenant, perDay, t.clock.now());
    assert.equal((await requestToken(t, tenant)).status, 403);
    await patch(tenant, { planTier: 'pro' });
    assert.equal((await requestToken(t, tenant)).status, 200);
    await t.sql('update token_hours set tokens = tokens + 3000000000 where organization_id = $1', [
      tenant.organizationId,
    ]);
    assert.equal((await requestToken(t, tenant)).status, 403);
    await patch(tenant, { planTier: 'enterprise' });
    assert.deepEqual(countByStatus(await concurrently(5, () => requestToken(t, tenant))), { 200: 5 });
    await patch(tenant, { planTier: 'free' });
    assert.equal((await requestToken(t, tenant)).status, 403);
  });
});

describe('the monthly limit of a client', () => {
  it("403 unauthorized_client, checked before the organization's daily limit", async () => {
    const tenant = await createTenant(t);
    const colleague = await t.agent({ organization_id: tenant.organizationId });
    await insertMonthUsage(t.sql, tenant, perMonth - 2, t.clock.now());
    const answers = await concurrently(50, () => requestToken(t, tenant));
    assert.deepEqual(countByStatus(answers), { 200: 1, 403: 49 });
    const { json } = answers.find(({ status }) => status === 403) ?? {};
    const resetsAt = new Date(t.clock.now() + untilNextMonth(t.clock.now())).toISOString();
    assert.match(json.error_description, /client has been issued its 10000 tokens of this month/);
    assert.ok(json.error_description.includes(resetsAt), json.error_description);
    assert.equal((await refusals(tenant))[0]?.metadata.limitType, 'tokens_per_month');
    assert.equal((await requestToken(t, colleague)).status, 200, 'it is one of each client');
    await insertTokenUsage(t.sql, { ...tenant, agentId: colleague.agentId }, perDay, t.clock.now());
    assert.match((await requestToken(t, tenant)).json.error_description, /of this month/);
    assert.match((await requestToken(t, colleague)).json.error_description, /of today/);
  });
  it("403 unauthorized_client names the remedy: a higher plan, or the organization's own limit", async () => {
    const tenant = await createTenant(t);
    await insertMonthUsage(t.sql, tenant, perMonth, t.clock.now());
    const description = async () => (await requestToken(t, tenant)).json.error_description;
    assert.match(await description(), /A higher plan allows more: POST \/api\/v1\/tiers\/upgrade$/);
    await patch(tenant, { planTier: 'enterprise', maxTokensPerMonth: 5 });
    assert.match(await description(), /: an operator can raise its maxTokensPerMonth$/);
  });
  for (const planTier of ['free', 'pro', 'enterprise']) {
    it(`is the organization's own limit where it has one, on ${planTier}`, async () => {
      const tenant = await createTenant(t, { planTier, maxTokensPerMonth: 4 });
      assert.deepEqual(countByStatus(await concurrently(50, () => requestToken(t, tenant))), {
        200: 3,
        403: 47,
      });
      await patch(tenant, { maxTokensPerMonth: 6 });
      assert.deepEqual(countByStatus(await concurrently(5, () => requestToken(t, tenant))), {
        200: 2,
        403: 3,
      });
      await patch(tenant, { maxTokensPerMonth: null });
      assert.equal((await requestToken(t, tenant)).status, 200);
      await patch(tenant, { maxTokensPerMonth: 0 });
      assert.equal((await requestToken(t, tenant)).status, 403);
    });
  }
  it('2147483647 is no limit', async () => {
    const tenant = await createTenant(t, { planTier: 'enterprise', maxTokensPerMonth: 2_147_483_647 });
    await insertMonthUsage(t.sql, tenant, 3_000_000_000, t.clock.now());
    assert.equal((await requestToken(t, tenant)).status, 200);
  });
});

describe('a request while another transaction holds the quota lock', () => {
  /** Another process that has locked the quota and not committed. */
  const holding = (id: string) =>
    keepOpen(t, (tx) => tx.run('test.hold', sql`select pg_advisory_xact_lock(1, hashtext(${id}))`));

  it('waits for it near the limit, while other organizations do not', async () => {
    const [tenant, other] = [await createTenant(t), await createTenant(t)];
    const release = await holding(tenant.organizationId);
    let answered = false;
    const waiting = requestToken(t, tenant).finally(() => {
      answered = true;
    });
    for (let round = 0; round < 5; round += 1) assert.equal((await requestToken(t, other)).status, 200);
    assert.equal(answered, false);
    await release();
    assert.equal((await waiting).status, 200);
    assert.deepEqual(await counted(tenant), { day: 2, month: 2, days: 2 });
  });
  it('does not wait far from the limit', async () => {
    const tenant = await createTenant(t, { planTier: 'pro' });
    const release = await holding(tenant.organizationId);
    assert.equal((await requestToken(t, tenant)).status, 200);
    await release();
  });
  it('does not wait at the limit either', async () => {
    const tenant = await createTenant(t);
    await insertTokenUsage(t.sql, tenant, perDay, t.clock.now());
    const release = await holding(tenant.organizationId);
    assert.equal((await requestToken(t, tenant)).status, 403);
    await release();
  });
  it('200 for a client assertion after the wait, which counts as one use; 401 for the second use', async () => {
    const tenant = await createTenant(t);
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const put = await t.call('PUT', `/api/v1/agents/${tenant.agentId}/keys`, {
      token: await t.token(),
      payload: { keys: [await exportJWK(publicKey)] },
    });
    assert.equal(put.status, 200);
    const client_assertion = await new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(tenant.agentId)
      .setSubject(tenant.agentId)
      .setAudience('http://countersign.test')
      .setExpirationTime(new Date(t.clock.now() + 60_000))
      .sign(privateKey);
    const form = {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion,
    };
    const release = await holding(tenant.organizationId);
    const waiting = t.askToken(form);
    assert.equal((await requestToken(t, await createTenant(t))).status, 200);
    await release();
    assert.equal((await waiting).status, 200);
    assert.equal((await t.askToken(form)).status, 401);
  });
});

describe('the counts of tokens', () => {
  it('reset at midnight and with the month', async () => {
    const tenant = await createTenant(t);
    t.clock.advance(untilMidnight(t.clock.now()) - 60_000);
    await insertTokenUsage(t.sql, tenant, perDay, t.clock.now());
    assert.equal((await requestToken(t, tenant)).status, 403);
    t.clock.advance(120_000);
    assert.equal((await requestToken(t, tenant)).status, 200);

    t.clock.advance(untilNextMonth(t.clock.now()) - 60_000);
    await t.app.audit.prepare();
    await t.sql('delete from token_months where shard = 99');
    await insertMonthUsage(t.sql, tenant, perMonth, t.clock.now());
    assert.match((await requestToken(t, tenant)).json.error_description, /of this month/);
    t.clock.advance(120_000);
    assert.equal((await requestToken(t, tenant)).status, 200);
    assert.deepEqual(await counted(tenant), { day: 1, month: 1, days: 1 });
  });
  it('equal the number of tokens in the audit log, across clients and batches', async () => {
    const tenants = await Promise.all([
      createTenant(t, { planTier: 'pro' }),
      createTenant(t, { planTier: 'enterprise' }),
      createTenant(t),
    ]);
    await concurrently(150, (index) => requestToken(t, tenants[index % 3] as Tenant));
    await t.app.usage.countIssued();
    const differing = await t.sql(
      `select agent_id, to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD') as day, count(*)::int as n
       from audit_events where action = 'token.issued' group by 1, 2
       except select agent_id, day::text, sum(quantity)::int from usage_days where metric = 'tokens_issued' group by 1, 2`,
    );
    assert.deepEqual(differing, []);
    for (const tenant of tenants) assert.deepEqual(await counted(tenant), { day: 51, month: 51, days: 51 });
  });
});
