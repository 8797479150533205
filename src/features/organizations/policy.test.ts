import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';

describe('refusals by policy', () => {
  it('are in the audit log once each, whether the route or the service checks', async () => {
    const t = await startApp();
    const token = await t.token();
    const admin = await t.agent();
    const own = `/api/v1/organizations/${t.operator.organizationId}`;
    await t.call('POST', `${own}/members`, { token, payload: { agentId: admin.agentId, role: 'admin' } });
    const as = await t.token(undefined, admin);
    const refusals = async () =>
      (
        await t.sql<{ action: string; outcome: string }>(
          "select metadata->>'action' as action, outcome from audit_events where action = 'policy.refused' and agent_id = $1 order by occurred_at",
          [admin.agentId],
        )
      ).map(({ action, outcome }) => `${action} ${outcome}`);

    assert.equal((await t.call('POST', '/api/v1/organizations', { token: as, payload: {} })).status, 403);
    assert.deepEqual(await refusals(), ['organizations:create failure']);
    assert.equal((await t.call('PATCH', own, { token: as, payload: { planTier: 'pro' } })).status, 403);
    assert.deepEqual(await refusals(), ['organizations:create failure', 'organizations:configure failure']);
    const malformed = await t.call('GET', '/api/v1/organizations/zzz', { token: as });
    assert.deepEqual([malformed.status, malformed.json.code], [400, 'VALIDATION_ERROR']);
    assert.equal((await refusals()).length, 2);
  });
});

describe('POLICIES_DIR', () => {
  it('replaces the policies that come with Countersign', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-policies-'));
    after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(
      join(folder, 'own.cedar'),
      'permit (principal, action == Action::"organizations:list", resource);',
    );
    const t = await startApp({ POLICIES_DIR: folder });
    const token = await t.token();
    assert.equal((await t.call('GET', '/api/v1/organizations', { token })).status, 200);
    const created = await t.call('POST', '/api/v1/organizations', {
      token,
      payload: { name: 'x', slug: 'x' },
    });
    assert.deepEqual([created.status, created.json.code], [403, 'FORBIDDEN']);
  });
});
