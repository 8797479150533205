import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { ofOrganizationAdmins, type Row, runsTests } from '../../../test/matrix/matrix-rows.ts';
import { startApp } from '../../../test/support/harness.ts';

const pathOf = (organizationId: string) => `/api/v1/organizations/${organizationId}/client-policy`;

export const access: Record<string, Row> = {
  getClientPolicy: {
    request: ({ organizationId }) => ({ method: 'GET', url: pathOf(organizationId) }),
    answers: ofOrganizationAdmins('200'),
  },
  putClientPolicy: {
    request: ({ organizationId }) => ({
      method: 'PUT',
      url: pathOf(organizationId),
      payload: { mode: 'domains', domains: [`${randomUUID()}.example`] },
    }),
    answers: ofOrganizationAdmins('200'),
  },
};

if (runsTests(import.meta))
  describe('the client policy of an organization', async () => {
    const t = await startApp();
    const token = await t.token();
    const makeOrganization = async (): Promise<string> =>
      (
        await t.call('POST', '/api/v1/organizations', {
          token,
          payload: { name: 'Talent', slug: `team-${randomUUID().slice(0, 18)}` },
        })
      ).json.organizationId;
    const get = async (id: string) => (await t.call('GET', pathOf(id), { token })).json;
    const put = (id: string, payload: object) => t.call('PUT', pathOf(id), { token, payload });
    const events = (id: string) =>
      t.sql<{ metadata: Record<string, unknown> }>(
        "select metadata from audit_events where organization_id = $1 and action = 'client_policy.updated' order by occurred_at, event_id",
        [id],
      );

    it('200 any at first; PUT replaces it, in lower case and without repetitions, with an event', async () => {
      const id = await makeOrganization();
      assert.deepEqual(await get(id), { mode: 'any', domains: [] });
      const answer = await put(id.toUpperCase(), {
        mode: 'domains',
        domains: ['Example.com', 'localhost', 'example.COM', 'xn--bcher-kva.example'],
      });
      const stored = { mode: 'domains', domains: ['example.com', 'localhost', 'xn--bcher-kva.example'] };
      assert.deepEqual([answer.status, answer.json], [200, stored]);
      assert.deepEqual(await get(id.toUpperCase()), stored);
      // Again: no change, no event.
      assert.deepEqual((await put(id, stored)).json, stored);
      assert.deepEqual((await put(id, { mode: 'off' })).json, { mode: 'off', domains: [] });
      assert.deepEqual(await get(id), { mode: 'off', domains: [] });
      const metadata = (await events(id)).map(({ metadata: { requestId: _, actorId: __, ...rest } }) => rest);
      assert.deepEqual(metadata, [
        { ...stored, previousMode: 'any' },
        { mode: 'off', domains: [], previousMode: 'domains' },
      ]);
      assert.deepEqual(await get(await makeOrganization()), { mode: 'any', domains: [] });
    });

    it('400 VALIDATION_ERROR for anything but modes and host names', async () => {
      const id = await makeOrganization();
      const bad: object[] = [
        {},
        { mode: 'some' },
        { mode: null },
        { domains: [] },
        { mode: 'any', more: true },
        ...[
          'https://example.com',
          'example.com:443',
          'example.com/',
          '*.example.com',
          '.example.com',
          'example.com.',
          'exa mple.com',
          'bücher.example',
          '-example.com',
          'a..b',
          '',
          `${'a'.repeat(64)}.example`,
          7,
        ].map((domain) => ({ mode: 'domains', domains: [domain] })),
        { mode: 'domains', domains: Array.from({ length: 101 }, (_, n) => `h${n}.example`) },
        { mode: 'domains', domains: 'example.com' },
      ];
      for (const payload of bad) {
        const { status, json } = await put(id, payload);
        assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], JSON.stringify(payload));
      }
      assert.deepEqual(await get(id), { mode: 'any', domains: [] });
      assert.deepEqual(await events(id), []);
      const hundred = Array.from({ length: 100 }, (_, n) => `h${n}.example`);
      assert.equal((await put(id, { mode: 'domains', domains: hundred })).status, 200);
    });

    it('404 ORG_NOT_FOUND for an unknown organization, and PUT for a deleted one', async () => {
      const id = await makeOrganization();
      await t.call('DELETE', `/api/v1/organizations/${id}`, { token });
      for (const [method, orgId] of [
        ['GET', randomUUID()],
        ['PUT', randomUUID()],
        ['PUT', id],
      ] as const) {
        const { status, json } = await t.call(method, pathOf(orgId), {
          token,
          ...(method === 'PUT' && { payload: { mode: 'off' } }),
        });
        assert.deepEqual([status, json.code], [404, 'ORG_NOT_FOUND'], `${method} ${orgId}`);
      }
    });
  });
