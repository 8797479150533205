import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ofOwnOrganization, type Row, runsTests } from '../../../test/matrix/matrix-rows.ts';
import { startApp } from '../../../test/support/harness.ts';
import { insertApprovalRow } from '../../../test/support/scenarios/approval-rows.ts';
import { createTenant, type Tenant } from '../../../test/support/scenarios/plans.ts';

const url = '/api/v1/analytics/approvals';

export const access: Record<string, Row> = {
  getApprovalAnalytics: {
    request: () => ({ method: 'GET', url }),
    answers: ofOwnOrganization('200'),
  },
};

if (runsTests(import.meta))
  describe('GET /analytics/approvals', async () => {
    const t = await startApp({ MULTI_TENANT: 'true' });
    const dayMs = 86_400_000;
    const get = (token: string, query = '') => t.call('GET', `${url}${query}`, { token });
    const insert = (
      { organizationId, agentId }: Pick<Tenant, 'organizationId' | 'agentId'>,
      status: Parameters<typeof insertApprovalRow>[1]['status'],
      changes: { createdAt?: number; expiresAt?: number } = {},
    ) => insertApprovalRow(t.sql, { organizationId, agentId, status, createdAt: t.clock.now(), ...changes });
    const none = { pending: 0, approved: 0, denied: 0, expired: 0, canceled: 0 };

    it('200 by agent and outcome, the most frequent first; a lapsed request counts as expired', async () => {
      const tenant = await createTenant(t, { planTier: 'pro' });
      const { organizationId } = tenant;
      const busy = { organizationId, ...(await t.agent({ organization_id: organizationId })) };
      await insert(tenant, 'pending');
      await insert(tenant, 'pending', { expiresAt: t.clock.now() - 1 });
      for (const status of ['approved', 'approved', 'denied', 'expired', 'canceled'] as const)
        await insert(busy, status);
      await insert(await createTenant(t), 'approved');
      const { status, json } = await get(tenant.token);
      assert.equal(status, 200);
      assert.deepEqual(json, {
        tenantId: organizationId,
        days: 30,
        ...{ total: 2, page: 1, limit: 20 },
        data: [
          { agentId: busy.agentId, ...none, approved: 2, denied: 1, expired: 1, canceled: 1 },
          { agentId: tenant.agentId, ...none, pending: 1, expired: 1 },
        ],
      });
      const second = (await get(tenant.token, '?limit=1&page=2')).json;
      assert.deepEqual([second.total, second.data.length, second.data[0].agentId], [2, 1, tenant.agentId]);
      const beyond = (await get(tenant.token, '?limit=1&page=3')).json;
      assert.deepEqual([beyond.total, beyond.data], [2, []]);
    });

    it('200 for the days that are asked for, and for an organization without any', async () => {
      const tenant = await createTenant(t);
      const today = t.clock.now() - (t.clock.now() % dayMs);
      await insert(tenant, 'denied', { createdAt: today });
      await insert(tenant, 'denied', { createdAt: today - 1 });
      assert.equal((await get(tenant.token, '?days=1')).json.data[0].denied, 1);
      assert.equal((await get(tenant.token, '?days=2')).json.data[0].denied, 2);
      const empty = (await get((await createTenant(t)).token)).json;
      assert.deepEqual([empty.total, empty.data], [0, []]);
    });

    it('400 VALIDATION_ERROR, 401 UNAUTHORIZED, and 404 when analytics is switched off', async () => {
      const { token } = await createTenant(t);
      for (const query of ['?days=0', '?days=91', '?page=0', '?limit=101'])
        assert.equal((await get(token, query)).json.code, 'VALIDATION_ERROR', query);
      assert.equal((await t.call('GET', url)).json.code, 'UNAUTHORIZED');
      const off = await startApp({ ANALYTICS_ENABLED: 'false' }, t);
      assert.equal((await off.call('GET', url, { token })).status, 404);
    });
  });
