import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';

const t = await startApp();
const operator = await t.token();
const { organizationId: otherHome } = await t.app.db.transaction((tx) =>
  t.app.organizations.register(
    tx,
    { requestId: 'test', ipAddress: '', userAgent: '', agentId: t.operator.agentId },
    { name: 'Other', slug: 'other', planTier: 'pro' },
  ),
);
const [ours, theirs] = [await t.agent(), await t.agent({ organization_id: otherHome, owner: 'them' })];
const [ourToken, theirToken] = [await t.token(undefined, ours), await t.token(undefined, theirs)];

const read = (agentId: string, token = operator) => t.call('GET', `/api/v1/agents/${agentId}`, { token });
const list = async (query = '', token = theirToken) =>
  (await t.call('GET', `/api/v1/agents?${query}`, { token })).json;

describe('GET /agents/{agentId}', () => {
  it("200 for the caller's organization, an id in either case, and operators", async () => {
    for (const [id, token] of [
      [ours.agentId, ourToken],
      [ours.agentId.toUpperCase(), ourToken],
      [theirs.agentId, theirToken],
      [theirs.agentId, operator],
    ] as const) {
      const { status, json } = await read(id, token);
      assert.equal(status, 200);
      assert.equal(json.agentId, id.toLowerCase());
    }
  });
  it('404 AGENT_NOT_FOUND for another organization’s agent, as for an unknown one', async () => {
    const [foreign, missing] = [
      await read(theirs.agentId, ourToken),
      await read(crypto.randomUUID(), ourToken),
    ];
    assert.deepEqual([foreign.status, foreign.json.code], [404, 'AGENT_NOT_FOUND']);
    assert.equal(foreign.text, missing.text);
    assert.equal((await read(ours.agentId, theirToken)).text, missing.text);
  });
  it('400 VALIDATION_ERROR for a malformed UUID', async () => {
    for (const id of ['x', '0', `${ours.agentId}0`, `%20${ours.agentId}`, `urn:uuid:${ours.agentId}`]) {
      const { status, json } = await read(id);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], id);
      assert.deepEqual(json.details.fields[0].in, 'path');
    }
  });
});

describe('GET /agents', () => {
  const made: string[] = [];
  const make = async (changes: Record<string, unknown>) => {
    t.clock.advance(10);
    const { json } = await t.call('POST', '/api/v1/agents', {
      token: theirToken,
      payload: newAgent(changes),
    });
    made.unshift(json.agentId);
    return json.agentId;
  };
  const idsOf = ({ data }: { data: { agentId: string }[] }) => data.map(({ agentId }) => agentId);

  it('200 newest first, 20 to a page by default, with the total of all pages', async () => {
    made.unshift(theirs.agentId);
    for (let index = 0; index < 24; index += 1)
      await make({ owner: index % 3 ? 'Team' : 'team', agentType: index % 2 ? 'router' : 'monitor' });

    const first = await list();
    assert.deepEqual(Object.keys(first), ['data', 'total', 'page', 'limit']);
    assert.deepEqual([first.total, first.page, first.limit], [25, 1, 20]);
    assert.deepEqual(idsOf(first), made.slice(0, 20));
    assert.deepEqual(first.data[0], (await read(made[0] ?? '', theirToken)).json);

    const pages: [string, number, number, string[]][] = [
      ['page=2', 2, 20, made.slice(20)],
      ['page=3&limit=7', 3, 7, made.slice(14, 21)],
      ['limit=100', 1, 100, made],
      ['limit=1', 1, 1, made.slice(0, 1)],
      ['page=10000000&limit=100', 10_000_000, 100, []],
    ];
    for (const [query, page, limit, ids] of pages) {
      const answer = await list(query);
      assert.deepEqual([answer.total, answer.page, answer.limit], [25, page, limit], query);
      assert.deepEqual(idsOf(answer), ids, query);
    }
  });

  it('200 filtered by exact owner, agentType, status, and combinations', async () => {
    await t.sql("update agents set status = 'suspended' where agent_id = $1", [made[0]]);
    const totals: [string, number][] = [
      ['owner=team', 8],
      ['owner=Team', 16],
      ['owner=tea', 0],
      ['owner=te%25', 0],
      ["owner='%20or%20true%20--", 0],
      ['agentType=router', 12],
      ['agentType=monitor', 12],
      ['agentType=custom', 0],
      ['status=active', 24],
      ['status=suspended', 1],
      ['status=decommissioned', 0],
      ['owner=team&agentType=router&status=active', 4],
    ];
    for (const [query, total] of totals) {
      const answer = await list(`limit=100&${query}`);
      assert.deepEqual([answer.total, answer.data.length], [total, total], query);
    }
  });

  it('400 VALIDATION_ERROR beyond the bounds, never clamped', async () => {
    for (const query of ['limit=101', 'limit=0', 'page=0', 'agentType=robot', 'status=', 'limit=ten']) {
      const { status, json } = await t.call('GET', `/api/v1/agents?${query}`, { token: theirToken });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], query);
      assert.deepEqual(
        [json.details.fields[0].in, json.details.fields[0].field],
        ['query', query.split('=')[0]],
      );
    }
  });

  it('neither rows nor totals cross organizations; the operator sees all', async () => {
    const [all, mine, their] = [
      await list('limit=100', operator),
      await list('limit=100', ourToken),
      await list('limit=100', theirToken),
    ];
    const homes = ({ data }: typeof all) => [
      ...new Set(data.map(({ organizationId }: { organizationId: string }) => organizationId)),
    ];
    assert.deepEqual(homes(mine), [t.operator.organizationId]);
    assert.deepEqual(homes(their), [otherHome]);
    assert.equal(mine.total, mine.data.length);
    assert.equal(all.total, mine.total + their.total);
    assert.deepEqual(await list('owner=them', ourToken), { data: [], total: 0, page: 1, limit: 20 });
    // Operator access depends on the token's scopes, not on the agent.
    assert.deepEqual(homes(await list('limit=100', await t.token('agents:read'))), [
      t.operator.organizationId,
    ]);
  });
});
