import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { ofOrganizationAdmins, type Row, runsTests } from '../../../test/matrix/matrix-rows.ts';
import { startApp } from '../../../test/support/harness.ts';

const pathOf = (organizationId: string) => `/api/v1/organizations/${organizationId}/approval-policy`;

export const access: Record<string, Row> = {
  getApprovalPolicy: {
    request: ({ organizationId }) => ({ method: 'GET', url: pathOf(organizationId) }),
    answers: ofOrganizationAdmins('200'),
  },
  putApprovalPolicy: {
    request: ({ organizationId }) => ({
      method: 'PUT',
      url: pathOf(organizationId),
      payload: { requireTwo: [`https://${randomUUID()}.example`] },
    }),
    answers: ofOrganizationAdmins('200'),
  },
};

if (runsTests(import.meta))
  describe('the approval policy of an organization', async () => {
    const t = await startApp();
    const token = await t.token();
    const url = pathOf(t.operator.organizationId);
    const put = (payload: object) => t.call('PUT', url, { token, payload });
    const defaults = { maxAccessSeconds: 86_400, selfApproval: false, requireTwo: [] };

    it('200 with the defaults, then with what was set; an absent field gets its default; one event per change', async () => {
      assert.deepEqual((await t.call('GET', url, { token })).json, defaults);
      const wanted = { maxAccessSeconds: 60, selfApproval: true, requireTwo: ['https://api.example'] };
      for (let round = 0; round < 2; round += 1) assert.deepEqual((await put(wanted)).json, wanted);
      assert.deepEqual((await t.call('GET', url, { token })).json, wanted);
      assert.deepEqual((await put({})).json, defaults);
      const events = await t.sql<{ metadata: { previous: object } }>(
        "select metadata from audit_events where action = 'approval_policy.updated' order by occurred_at, event_id",
      );
      assert.deepEqual(
        events.map(({ metadata }) => metadata.previous),
        [defaults, wanted],
      );
    });

    it('400 for values out of range, of another type, and unknown fields', async () => {
      for (const payload of [
        { maxAccessSeconds: 59 },
        { maxAccessSeconds: 86_401 },
        { maxAccessSeconds: 60.5 },
        { selfApproval: 'yes' },
        { requireTwo: 'https://api.example' },
        { requireTwo: ['a', 'a'] },
        { requireTwo: ['with blank '] },
        { requireTwo: Array.from({ length: 101 }, (_, index) => `https://${index}.example`) },
        { other: 1 },
      ]) {
        const { status, json } = await put(payload);
        assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], JSON.stringify(payload));
      }
      assert.deepEqual((await t.call('GET', url, { token })).json, defaults);
    });
  });
