/** The time range of every list that has pages: `since` and `until`, both included. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newAgent, startApp } from './support/harness.ts';
import { createDelegationClient } from './support/scenarios/delegations.ts';
import { createTrustClient } from './support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const token = await t.token();
const { createPolicy } = await createTrustClient(t);
const { createDelegation } = createDelegationClient(t);
const delegatee = await t.agent();

const post = async (path: string, payload: object) => {
  const answer = await t.call('POST', `/api/v1${path}`, { token, payload });
  assert.equal(answer.status, 201, answer.text);
  return answer.json;
};

let count = 0;
const lists: Record<string, { path: string; id: string; create: () => Promise<Record<string, string>> }> = {
  agents: {
    path: '/agents',
    id: 'agentId',
    create: () => post('/agents', newAgent()),
  },
  resources: {
    path: '/resources',
    id: 'resourceId',
    create: () =>
      post('/resources', {
        identifier: `https://api-${++count}.example`,
        name: 'API',
        scopes: [{ name: 'read' }],
      }),
  },
  organizations: {
    path: '/organizations',
    id: 'organizationId',
    create: () => post('/organizations', { name: 'Acme', slug: `acme-${++count}` }),
  },
  'trust policies': { path: '/oidc/trust-policies', id: 'policyId', create: () => createPolicy() },
  delegations: {
    path: '/delegations',
    id: 'chainId',
    create: async () => ({ ...(await createDelegation(token, delegatee, ['agents:read'])) }),
  },
};

for (const [name, { path, id, create }] of Object.entries(lists))
  describe(`the list of ${name}`, () => {
    const list = (range: Record<string, string>) =>
      t.call('GET', `/api/v1${path}?${new URLSearchParams({ limit: '100', ...range })}`, { token });
    const idsOf = async (range: Record<string, string>) => {
      const { status, text, json } = await list(range);
      assert.equal(status, 200, text);
      assert.equal(json.total, json.data.length);
      return json.data.map((row: Record<string, string>) => row[id]);
    };

    it('200 has what was created within the range, and counts it', async () => {
      const first = (await create())[id];
      t.clock.advance(60_000);
      const between = new Date(t.clock.now()).toISOString();
      t.clock.advance(60_000);
      const second = (await create())[id];
      const last = (await list({})).json.data.find(
        (row: Record<string, string>) => row[id] === second,
      ).createdAt;
      const later = await idsOf({ since: between });
      assert.ok(later.includes(second) && !later.includes(first));
      const earlier = await idsOf({ until: between });
      assert.ok(earlier.includes(first) && !earlier.includes(second));
      assert.ok((await idsOf({ since: last, until: last })).includes(second), 'both ends are included');
      assert.deepEqual(await idsOf({ until: '2001-01-01T00:00:00Z' }), []);
    });

    it('400 VALIDATION_ERROR for a malformed time, and for an end before the beginning', async () => {
      for (const [range, field] of [
        [{ since: 'yesterday' }, 'since'],
        [{ until: '2026-02-31' }, 'until'],
        [{ since: '2026-02-02T00:00:00Z', until: '2026-02-01T00:00:00Z' }, 'until'],
      ] as const) {
        const { status, text } = await list(range);
        assert.equal(status, 400, text);
        assert.match(text, new RegExp(`"field":"${field}"`));
      }
    });
  });
