import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { exportJWK } from 'jose';
import { execute, newAgent, startApp, type TestApp } from '../../../test/support/harness.ts';
import { createMatrixFixture } from '../../../test/support/principals.ts';
import { until } from '../../../test/support/programs.ts';
import { insertApprovalRow } from '../../../test/support/scenarios/approval-rows.ts';
import { auditLinks } from '../../../test/support/scenarios/audit-log.ts';

const api = '/api/v1/compliance';
const t = await startApp({
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  BASE_URL: 'https://id.example.com',
  RATE_LIMIT_PER_MINUTE: '100000',
  DATA_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
});
const { agentIn, makeTarget, operatorToken } = await createMatrixFixture(t);

const asIntruder = (app: TestApp, text: string) =>
  execute(app.databaseUrl, `set session_replication_role = replica; ${text}`);
const controls = async (app = t) => {
  const answer = await app.call('GET', `${api}/controls`);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers['cache-control'], 'public, max-age=60');
  return answer.json.controls as {
    id: string;
    name: string;
    status: string;
    reason: string | null;
    lastChecked: string;
  }[];
};
const controlOf = async (id: string, app = t) => (await controls(app)).find((one) => one.id === id);
const statusOf = async (id: string, app = t) => (await controlOf(id, app))?.status;
const report = (token: string, app = t) => app.call('GET', `${api}/report`, { token });
const counted = async () =>
  Number(/^service_compliance_reports_generated_total (\d+)$/m.exec(await t.app.metrics.text())?.[1] ?? 0);

/** An organization with an agent that calls the API, and further agents. */
async function makeHome(agents: number) {
  const { organizationId } = await makeTarget();
  const caller = await agentIn(organizationId, ['agents:read', 'audit:read']);
  const more = await Promise.all(Array.from({ length: agents }, () => agentIn(organizationId, [])));
  // The target has agents of its own.
  const [counts] = await t.sql<{ living: number }>(
    "select count(*)::int as living from agents where organization_id = $1 and status <> 'decommissioned'",
    [organizationId],
  );
  const living = counts?.living ?? 0;
  assert.ok(living > agents + 1);
  return { organizationId, ...caller, agentIds: more.map(({ agentId }) => agentId), living };
}
const nextReport = () => t.clock.advance(301_000);
const nextControls = () => t.clock.advance(61_000);

describe('GET /compliance/controls', () => {
  it('200 without a token: each control with its status and the time of its check', async () => {
    const before = t.clock.now();
    const [{ fsync } = {}] = await t.sql<{ fsync: string }>('show fsync');
    const all = await controls();
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
    const statuses = Object.fromEntries(all.map(({ id, status }) => [id, status]));
    assert.deepEqual(statuses, {
      'CC6.1': 'pass',
      'CC6.1-KEYS': 'pass',
      'CC6.2': 'pass',
      'CC6.3': 'pass',
      'CC6.3-SCOPES': 'pass',
      'CC6.3-APPROVALS': 'pass',
      'CC6.6': 'pass',
      'CC6.7': 'pass',
      'CC7.1': 'pass',
      'CC7.2': 'pass',
      'C1.1': 'pass',
      'C1.2': 'pass',
      // The tests' PostgreSQL runs with fsync off, so this control fails.
      'A1.2': fsync === 'on' ? 'pass' : 'fail',
      'A1.3': 'unknown',
    });
    const reasons = all.filter(({ reason }) => reason !== null).map(({ id, reason }) => [id, reason]);
    assert.deepEqual(reasons, [['A1.3', 'not_visible']]);
    for (const { lastChecked } of all) assert.ok(Date.parse(lastChecked) >= before - 1_000);
  });

  it('200 from one check a minute, shared by all requests', async () => {
    nextControls();
    const answers = await Promise.all(Array.from({ length: 20 }, () => controls()));
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
    t.clock.advance(30_000);
    assert.deepEqual(await controls(), answers[0]);
    t.clock.advance(31_000);
    assert.notDeepEqual(await controls(), answers[0]);
  });

  it('fail for each violated control, and pass again when it is repaired', async () => {
    const { agentId } = await t.agent();
    const { agentId: gone } = await t.agent();
    const cases: [string, string, string][] = [
      [
        'CC6.1',
        `update credentials set secret_hash = 'cs_plain' where agent_id = '${agentId}'`,
        `update credentials set secret_hash = sha256('x') where agent_id = '${agentId}'`,
      ],
      [
        'CC6.2',
        `update agents set status = 'decommissioned' where agent_id = '${gone}'`,
        `update agents set status = 'active' where agent_id = '${gone}'`,
      ],
      [
        'CC7.1',
        'alter table audit_events disable trigger append_only',
        'alter table audit_events enable trigger append_only',
      ],
      [
        'C1.2',
        "select audit_ensure_partition('2020-01-01')",
        'drop table audit_events_20200101; drop table audit_segments_20200101; drop table audit_tree_heads_20200101',
      ],
    ];
    for (const [id, wrong, right] of cases) {
      await asIntruder(t, wrong);
      nextControls();
      assert.equal(await statusOf(id), 'fail', id);
      await asIntruder(t, right);
      nextControls();
      assert.equal(await statusOf(id), 'pass', id);
    }
  });

  it('fail for insecure settings', async () => {
    const open = await startApp({ BASE_URL: 'http://id.example.com', RATE_LIMIT_PER_MINUTE: '1000000' });
    for (const id of ['CC6.6', 'CC6.7', 'C1.1']) assert.equal(await statusOf(id, open), 'fail', id);
  });

  it('TLS: unknown in development on a loopback address, fail in production and on any other address', async () => {
    const outcomeOf = async (changes: Record<string, string>) => {
      const { status, reason } = (await controlOf('CC6.7', await startApp(changes))) ?? {};
      return [status, reason];
    };
    const development = { NODE_ENV: 'development', BASE_URL: 'http://localhost:3000' };
    assert.deepEqual(await outcomeOf(development), ['unknown', 'not_applicable']);
    assert.deepEqual(await outcomeOf({ ...development, NODE_ENV: 'production' }), ['fail', null]);
    assert.deepEqual(await outcomeOf({ ...development, BASE_URL: 'http://192.0.2.1:3000' }), ['fail', null]);
    assert.deepEqual(await outcomeOf({ ...development, BASE_URL: 'https://localhost' }), ['pass', null]);
  });

  it('fail when policies allow every agent every action', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-policies-'));
    after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'all.cedar'), 'permit (principal, action, resource);');
    assert.equal(await statusOf('CC6.3', await startApp({ POLICIES_DIR: folder })), 'fail');
  });

  it('unknown while the database is unavailable', async () => {
    nextControls();
    await t.sql('alter table credentials rename to credentials_away');
    const all = await controls();
    await t.sql('alter table credentials_away rename to credentials');
    const unavailable = all.find(({ id }) => id === 'CC6.1');
    assert.deepEqual([unavailable?.status, unavailable?.reason], ['unknown', 'not_checked']);
    assert.equal(all.find(({ id }) => id === 'CC7.1')?.status, 'pass');
  });
});

describe('GET /compliance/report', () => {
  it('200 MISS, then HIT for five minutes, then MISS; counts generated reports', async () => {
    const { token, organizationId, living } = await makeHome(4);
    const before = await counted();
    const first = await report(token);
    assert.equal(first.status, 200, first.text);
    assert.equal(first.headers['x-cache'], 'MISS');
    const { generatedAt, approvals, ...rest } = first.json;
    assert.deepEqual(rest, {
      tenantId: organizationId,
      agntcyConformance: true,
      agentCount: living,
      verifiedAgentCount: living,
      auditChainIntegrity: true,
      writingAgentCount: 0,
      from_cache: false,
    });
    t.clock.advance(240_000);
    const second = await report(token);
    assert.equal(second.headers['x-cache'], 'HIT');
    assert.deepEqual(second.json, { ...first.json, from_cache: true });
    t.clock.advance(61_000);
    const third = await report(token);
    assert.equal(third.headers['x-cache'], 'MISS');
    assert.ok(third.json.generatedAt > generatedAt);
    assert.equal(await counted(), before + 2);
  });

  it('200 with the approvals of 90 days by outcome, and their list for those who may read the audit log', async () => {
    const { token, organizationId, agentId } = await makeHome(1);
    // The target has a request of its own.
    await t.sql('delete from approvals where organization_id = $1', [organizationId]);
    const now = t.clock.now();
    const day = 86_400_000;
    const row = { organizationId, agentId, createdAt: now - 1_000 };
    const person = randomUUID();
    const approved = await insertApprovalRow(t.sql, {
      ...{ ...row, status: 'approved', decidedBy: person },
      ...{ createdAt: now - 2_000, decidedAt: now - 1_000 },
    });
    await insertApprovalRow(t.sql, { ...row, status: 'pending' });
    const lapsed = { ...row, createdAt: now - 2 * day, expiresAt: now - day };
    await insertApprovalRow(t.sql, { ...lapsed, status: 'pending' });
    await insertApprovalRow(t.sql, { ...lapsed, status: 'expired' });
    await insertApprovalRow(t.sql, { ...row, status: 'denied', createdAt: now - 91 * day });
    const { approvals } = (await report(token)).json;
    const { since, data, ...counts } = approvals;
    assert.deepEqual(counts, { pending: 1, approved: 1, denied: 0, expired: 2, canceled: 0 });
    assert.ok(Math.abs(Date.parse(since) - (now - 90 * day)) < 60_000);
    assert.deepEqual(
      data.map(({ status }: { status: string }) => status),
      ['pending', 'approved', 'expired', 'expired'],
    );
    assert.deepEqual(data[1], {
      ...{ approvalId: approved, agentId, resource: 'https://orders.example.com', scopes: ['orders:read'] },
      ...{ status: 'approved', decidedBy: person },
      createdAt: new Date(now - 2_000).toISOString(),
      decidedAt: new Date(now - 1_000).toISOString(),
    });
    // From the cache, too.
    const { json } = await report((await agentIn(organizationId, ['agents:read'])).token);
    assert.equal(json.from_cache, true);
    assert.deepEqual(json.approvals, { ...approvals, data: null });
  });

  it('200: an approval without a person fails its control', async () => {
    const { organizationId, agentId } = await makeHome(0);
    nextControls();
    assert.equal(await statusOf('CC6.3-APPROVALS'), 'pass');
    const createdAt = t.clock.now();
    const id = await insertApprovalRow(t.sql, { organizationId, agentId, status: 'approved', createdAt });
    nextControls();
    assert.equal(await statusOf('CC6.3-APPROVALS'), 'fail');
    await t.sql('delete from approvals where approval_id = $1', [id]);
    nextControls();
  });

  it('200: concurrent requests share one report, per organization', async () => {
    const homes = [await makeHome(1), await makeHome(2), await makeHome(3)];
    const before = await counted();
    for (let round = 0; round < 2; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, index) => report(homes[index % 3]?.token ?? '')),
      );
      for (const [index, { json }] of answers.entries()) {
        const home = homes[index % 3];
        assert.deepEqual([json.tenantId, json.agentCount], [home?.organizationId, home?.living]);
      }
    }
    assert.equal(await counted(), before + 3);
    assert.equal((await t.call('GET', `${api}/report`)).status, 401);
  });

  it('200: suspended agents count as agents and not as verified, decommissioned ones not at all', async () => {
    const { token, agentIds, living } = await makeHome(3);
    const [first, second] = agentIds;
    await t.call('PATCH', `/api/v1/agents/${first}`, {
      token: operatorToken,
      payload: { status: 'suspended' },
    });
    await t.call('DELETE', `/api/v1/agents/${second}`, { token: operatorToken });
    const { agentCount, verifiedAgentCount, agntcyConformance } = (await report(token)).json;
    assert.deepEqual([agentCount, verifiedAgentCount, agntcyConformance], [living - 1, living - 2, true]);
  });

  it('200: an agent with invalid documents is not verified, even if it was before', async () => {
    const { token, agentIds, living } = await makeHome(3);
    const [broken] = agentIds;
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const put = await t.call('PUT', `/api/v1/agents/${broken}/keys`, {
      token: operatorToken,
      payload: { keys: [await exportJWK(publicKey)] },
    });
    assert.equal(put.status, 200);
    assert.equal((await report(token)).json.verifiedAgentCount, living);
    // Directly in SQL, without a new updated_at.
    const set = (keys: string) =>
      t.sql('update agents set public_keys = $2 where agent_id = $1', [broken, keys]);
    for (const keys of ['[{"kty":7,"kid":"k"}]', '[{"kty":"EC","kid":"a2a"}]']) {
      await set(keys);
      nextReport();
      const wrong = (await report(token)).json;
      assert.deepEqual([wrong.verifiedAgentCount, wrong.agntcyConformance], [living - 1, false], keys);
    }
    await set('[]');
    nextReport();
    const mended = (await report(token)).json;
    assert.deepEqual([mended.verifiedAgentCount, mended.agntcyConformance], [living, true]);
  });

  it('200: every agent is verified once, until it changes', async () => {
    const { token, organizationId, agentIds } = await makeHome(5);
    const checkedAt = async () =>
      Object.fromEntries(
        (
          await t.sql<{ agent_id: string; at: string }>(
            'select c.agent_id, c.checked_at::text as at from badge_checks c join agents using (agent_id) where organization_id = $1',
            [organizationId],
          )
        ).map(({ agent_id, at }) => [agent_id, at]),
      );
    await report(token);
    const before = await checkedAt();
    await t.call('PATCH', `/api/v1/agents/${agentIds[0]}`, {
      token: operatorToken,
      payload: { version: '3.0.0' },
    });
    nextReport();
    await report(token);
    const after = await checkedAt();
    const again = Object.keys(after).filter((id) => after[id] !== before[id]);
    assert.deepEqual(again, [agentIds[0]]);
  });
});

describe('a changed audit log', () => {
  it('changes the control and the report of that organization only', async () => {
    const [victim, other] = [await makeHome(2), await makeHome(1)];
    const intact = async ({ token }: { token: string }) => (await report(token)).json.auditChainIntegrity;
    assert.deepEqual([await intact(victim), await intact(other)], [true, true]);
    nextControls();
    assert.equal(await statusOf('CC7.2'), 'pass');

    const set = (value: string) =>
      asIntruder(
        t,
        `update audit_events set user_agent = ${value} where event_id =
           (select event_id from ${auditLinks} l where organization_id = '${victim.organizationId}' and sequence = 2)`,
      );
    await set("user_agent || '!'");
    // One run takes a second at most, and the next run continues.
    await until('the control fails', async () => {
      nextControls();
      return (await statusOf('CC7.2')) === 'fail' || undefined;
    });
    nextReport();
    assert.deepEqual([await intact(victim), await intact(other)], [false, true]);

    await set('left(user_agent, -1)');
    nextReport();
    assert.equal(await intact(victim), true);
    assert.equal(await statusOf('CC7.2'), 'pass');
  });
});

describe('GET /compliance/agent-cards', () => {
  it('200: an array of the cards of all active agents of the organization', async () => {
    const { token, organizationId, agentIds } = await makeHome(2);
    await t.call('PATCH', `/api/v1/agents/${agentIds[0]}`, {
      token: operatorToken,
      payload: { status: 'suspended' },
    });
    await t.sql(
      `insert into agents (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env, status,
                           allowed_scopes, created_at, updated_at)
       select gen_random_uuid(), $1::uuid, 'many-' || n || '@' || $1::uuid || '.example', 'router', '1.0.0', array['a:b'], $2, 'staging', 'active',
              '{}', now(), now() from generate_series(1, 1203) n`,
      [organizationId, 'o"\n'],
    );
    const answer = await t.call('GET', `${api}/agent-cards`, { token });
    assert.equal(answer.status, 200);
    assert.match(String(answer.headers['content-type']), /^application\/json/);
    const cards: { did: string; name: string; owner: string }[] = answer.json;
    const expected = await t.sql<{ agent_id: string }>(
      "select agent_id from agents where organization_id = $1 and status = 'active'",
      [organizationId],
    );
    assert.deepEqual(
      cards.map(({ did }) => did).sort(),
      expected.map(({ agent_id }) => `did:web:id.example.com:agents:${agent_id}`).sort(),
    );
    assert.deepEqual(Object.keys(cards[0] ?? {}).sort(), [
      'agentType',
      'capabilities',
      'deploymentEnv',
      'did',
      'identityProvider',
      'issuedAt',
      'name',
      'owner',
      'version',
    ]);
    assert.equal(cards.find(({ name }) => name === 'many-7')?.owner, 'o"\n');
    // A report waits for some seconds only; the loop verifies the rest.
    await until(
      'all of them are verified',
      async () => (await report(token)).json.verifiedAgentCount === expected.length || undefined,
    );
  });

  it('401 UNAUTHORIZED without a token', async () => {
    assert.equal((await t.call('GET', `${api}/agent-cards`)).status, 401);
  });
});

describe('COMPLIANCE_ENABLED=false', () => {
  it('404 COMPLIANCE_DISABLED for report and cards; the controls stay', async () => {
    const off = await startApp({ COMPLIANCE_ENABLED: 'false' });
    const token = await off.token();
    for (const what of ['report', 'agent-cards']) {
      const answer = await off.call('GET', `${api}/${what}`, { token });
      assert.equal(`${answer.status} ${answer.json.code}`, '404 COMPLIANCE_DISABLED');
      assert.equal((await off.call('GET', `${api}/${what}`)).status, 401);
    }
    assert.ok((await controls(off)).length > 0);
    assert.equal((await off.call('POST', '/api/v1/agents', { token, payload: newAgent() })).status, 201);
  });
});
