import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { organizationTransitions } from './transitions.ts';

const t = await startApp();
const token = await t.token();
const url = '/api/v1/organizations';
const slug = () => `team-${randomUUID().slice(0, 18)}`;

const create = (changes: object = {}) =>
  t.call('POST', url, { token, payload: { name: 'Talent team', slug: slug(), ...changes } });
const patch = (id: string, payload: object, as = token) =>
  t.call('PATCH', `${url}/${id}`, { token: as, payload });
const eventsOf = async (id: string) =>
  (
    await t.sql<{ action: string }>(
      "select action from audit_events where organization_id = $1 and action not like 'agent.%' and action not like 'credential.%' and action not like 'token.%' order by occurred_at, event_id",
      [id],
    )
  ).map(({ action }) => action);

/** A new agent of the organization with this role, and its token. */
async function memberOf(organizationId: string, role: 'member' | 'admin') {
  const { agentId } = (
    await t.call('POST', '/api/v1/agents', { token, payload: newAgent({ organization_id: organizationId }) })
  ).json;
  await t.call('POST', `${url}/${organizationId}/members`, { token, payload: { agentId, role } });
  const credential = (await t.call('POST', `/api/v1/agents/${agentId}/credentials`, { token })).json;
  return { agentId, credential, token: await t.token(undefined, credential) };
}

describe('POST /organizations', () => {
  it('201 with every field of the spec and the defaults of the free plan', async () => {
    const { status, json } = await create({ name: 'Defaults' });
    assert.equal(status, 201);
    const { organizationId, slug: given, createdAt, updatedAt, ...rest } = json;
    assert.match(organizationId, /^[0-9a-f-]{36}$/);
    assert.match(given, /^team-/);
    assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(updatedAt, createdAt);
    assert.deepEqual(rest, {
      name: 'Defaults',
      planTier: 'free',
      maxAgents: 25,
      maxTokensPerMonth: 10_000,
      status: 'active',
    });
  });
  it('201 with a plan and overrides', async () => {
    const { json } = await create({ planTier: 'pro', maxAgents: 7, maxTokensPerMonth: 9 });
    assert.deepEqual([json.planTier, json.maxAgents, json.maxTokensPerMonth], ['pro', 7, 9]);
  });
  it('409 ORG_ALREADY_EXISTS when the slug is taken, also by a deleted organization', async () => {
    const { json } = await create();
    assert.equal((await create({ slug: json.slug })).json.code, 'ORG_ALREADY_EXISTS');
    assert.equal((await t.call('DELETE', `${url}/${json.organizationId}`, { token })).status, 204);
    assert.equal((await create({ slug: json.slug })).status, 409);
  });
  for (const [what, changes, field] of [
    ['no name', { name: undefined }, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a blank name', { name: '   ' }, 'name'],
    ['a name of 256 characters', { name: 'x'.repeat(256) }, 'name'],
    ['a slug with capitals', { slug: 'Team' }, 'slug'],
    ['a slug with a space', { slug: 'a b' }, 'slug'],
    ['a slug that ends in a hyphen', { slug: 'team-' }, 'slug'],
    ['an unknown plan', { planTier: 'gold' }, 'planTier'],
    ['a negative maximum', { maxAgents: -1 }, 'maxAgents'],
    ['a maximum beyond integers', { maxTokensPerMonth: 2 ** 31 }, 'maxTokensPerMonth'],
    ['a fractional maximum', { maxAgents: 1.5 }, 'maxAgents'],
    ['a number as text', { maxAgents: '5' }, 'maxAgents'],
    ['an unknown field', { status: 'active' }, 'status'],
  ] as const) {
    it(`400 VALIDATION_ERROR naming ${field}, for ${what}`, async () => {
      const { status, json } = await create(changes);
      assert.equal(status, 400);
      assert.equal(json.code, 'VALIDATION_ERROR');
      assert.equal(json.details.fields[0].field, field);
    });
  }
});

describe('the name of an organization', () => {
  const points = (first: number, last = first) =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index);
  // Not U+0000, which is refused anywhere in a body.
  const refused = [
    ...[...points(0x01, 0x1f), ...points(0x7f, 0x9f), 0x61c, 0x200e, 0x200f],
    ...[...points(0x202a, 0x202e), ...points(0x2066, 0x2069), 0xfeff],
  ];
  it('400 VALIDATION_ERROR naming name, for a control or bidirectional character, on POST and PATCH', async () => {
    const { organizationId } = (await create()).json;
    for (const point of refused) {
      const name = `Acme${String.fromCodePoint(point)}Ltd`;
      for (const { status, json } of [await create({ name }), await patch(organizationId, { name })]) {
        assert.equal(`${status} ${json.code}`, '400 VALIDATION_ERROR', point.toString(16));
        assert.equal(json.details.fields[0].field, 'name');
      }
    }
  });
  it('201 for names in every script, with accents, joiners and emoji', async () => {
    for (const name of ['Zoë & Søn', 'שלום בע״מ', 'شركة', '株式会社', 'می\u200cخواهم', '👩‍💻 <Labs>', ' x '])
      assert.equal((await create({ name })).json.name, name);
  });
  it('200 for a stored name that breaks the rule: it is read unchanged, and other fields can be changed', async () => {
    const { organizationId } = (await create()).json;
    const name = 'Acme\u202eLtd';
    await t.sql('update organizations set name = $1 where organization_id = $2', [name, organizationId]);
    assert.equal((await t.call('GET', `${url}/${organizationId}`, { token })).json.name, name);
    const changed = await patch(organizationId, { planTier: 'pro' });
    assert.deepEqual([changed.status, changed.json.name], [200, name]);
  });
});

describe('GET /organizations', () => {
  it('200 pages newest first, filters by status, and counts exactly', async () => {
    const before = (await t.call('GET', `${url}?limit=1`, { token })).json.total;
    const first = (await create()).json;
    const second = (await create()).json;
    await patch(first.organizationId, { status: 'suspended' });
    const { json } = await t.call('GET', `${url}?limit=2`, { token });
    assert.equal(json.total, before + 2);
    assert.equal(json.data[0].organizationId, second.organizationId);
    assert.deepEqual([json.page, json.limit], [1, 2]);
    const suspended = (await t.call('GET', `${url}?status=suspended`, { token })).json;
    assert.ok(suspended.data.every(({ status }: { status: string }) => status === 'suspended'));
    assert.equal(suspended.total, suspended.data.length);
  });
  it('200 finds one by its slug', async () => {
    const { organizationId, slug: wanted } = (await create()).json;
    const { json } = await t.call('GET', `${url}?slug=${wanted}`, { token });
    assert.deepEqual([json.total, json.data[0].organizationId], [1, organizationId]);
    assert.equal((await t.call('GET', `${url}?slug=${wanted}x`, { token })).json.total, 0);
  });

  it('200 shows an admin its own organization only', async () => {
    const { organizationId } = (await create()).json;
    const admin = await memberOf(organizationId, 'admin');
    const { json } = await t.call('GET', url, { token: admin.token });
    assert.equal(json.total, 1);
    assert.equal(json.data[0].organizationId, organizationId);
  });
  it('400 VALIDATION_ERROR for a limit above 100 and an unknown status', async () => {
    assert.equal((await t.call('GET', `${url}?limit=101`, { token })).status, 400);
    assert.equal((await t.call('GET', `${url}?status=gone`, { token })).status, 400);
  });
});

describe('PATCH /organizations/{orgId}', () => {
  it('200 changes the given fields, and nothing for an empty body', async () => {
    const { json } = await create();
    const changed = (await patch(json.organizationId, { name: 'Renamed', planTier: 'enterprise' })).json;
    assert.deepEqual(
      [changed.name, changed.planTier, changed.maxAgents],
      ['Renamed', 'enterprise', 2_147_483_647],
    );
    assert.deepEqual((await patch(json.organizationId, {})).json, changed);
    assert.deepEqual((await patch(json.organizationId, { name: 'Renamed' })).json, changed);
    assert.deepEqual(await eventsOf(json.organizationId), ['organization.created', 'organization.updated']);
  });
  it('400 VALIDATION_ERROR for the slug, which never changes, and for status deleted', async () => {
    const { json } = await create();
    assert.equal((await patch(json.organizationId, { slug: 'other' })).json.code, 'VALIDATION_ERROR');
    assert.equal((await patch(json.organizationId, { status: 'deleted' })).json.code, 'VALIDATION_ERROR');
  });
  it('403 FORBIDDEN when an admin changes more than the name', async () => {
    const { organizationId } = (await create()).json;
    const admin = await memberOf(organizationId, 'admin');
    assert.equal((await patch(organizationId, { name: 'Ours' }, admin.token)).status, 200);
    const refused = await patch(organizationId, { name: 'Ours', planTier: 'enterprise' }, admin.token);
    assert.equal(refused.json.code, 'FORBIDDEN');
    assert.equal((await t.call('GET', `${url}/${organizationId}`, { token })).json.planTier, 'free');
  });
  it('403 FORBIDDEN when the operator would suspend or delete its own organization', async () => {
    const own = t.operator.organizationId;
    assert.equal((await patch(own, { status: 'suspended' })).json.code, 'FORBIDDEN');
    assert.equal((await t.call('DELETE', `${url}/${own.toUpperCase()}`, { token })).json.code, 'FORBIDDEN');
    assert.equal((await t.call('GET', `${url}/${own}`, { token })).json.status, 'active');
  });
});

describe('state transitions of an organization', () => {
  const act: Record<string, (id: string) => ReturnType<typeof patch>> = {
    active: (id) => patch(id, { status: 'active' }),
    suspended: (id) => patch(id, { status: 'suspended' }),
    deleted: (id) => t.call('DELETE', `${url}/${id}`, { token }),
  };
  for (const from of ['active', 'suspended', 'deleted'] as const) {
    for (const to of ['active', 'suspended', 'deleted'] as const) {
      const event = organizationTransitions[from][to];
      it(`${from} → ${to}: ${event ?? (from === to && from !== 'deleted' ? '200, no change' : '404 ORG_NOT_FOUND')}`, async () => {
        const { organizationId } = (await create()).json;
        if (from !== 'active') await act[from]?.(organizationId);
        const before = await eventsOf(organizationId);
        const answer = await act[to]?.(organizationId);
        assert.ok(answer);
        const now = (await t.call('GET', `${url}/${organizationId}`, { token })).json.status;
        if (from === 'deleted') {
          assert.deepEqual([answer.status, answer.json.code], [404, 'ORG_NOT_FOUND']);
          assert.equal(now, 'deleted');
        } else {
          assert.ok(answer.status < 300);
          assert.equal(now, to);
        }
        assert.deepEqual((await eventsOf(organizationId)).slice(before.length), event ? [event] : []);
      });
    }
  }
  it('its agents are refused at once while it is suspended, and accepted with new tokens after reactivation; operators can still act', async () => {
    const { organizationId } = (await create()).json;
    const member = await memberOf(organizationId, 'member');
    await patch(organizationId, { status: 'suspended' });
    assert.equal((await t.call('GET', '/api/v1/agents', { token: member.token })).json.code, 'ORG_SUSPENDED');
    const renamed = await t.call('PATCH', `/api/v1/agents/${member.agentId}`, {
      token,
      payload: { owner: 'operator' },
    });
    assert.equal(renamed.status, 200);
    await patch(organizationId, { status: 'active' });
    assert.equal((await t.call('GET', '/api/v1/agents', { token: member.token })).status, 401);
    const fresh = await t.token(undefined, member.credential);
    assert.equal((await t.call('GET', '/api/v1/agents', { token: fresh })).status, 200);
  });
});

describe('POST /organizations/{orgId}/members', () => {
  const add = (id: string, payload: object, as = token) =>
    t.call('POST', `${url}/${id}/members`, { token: as, payload });

  it('201 with every field of the spec; 409 MEMBER_ALREADY_EXISTS the second time', async () => {
    const { organizationId } = (await create()).json;
    const agent = await t.agent({ organization_id: organizationId });
    const { status, json } = await add(organizationId, { agentId: agent.agentId, role: 'admin' });
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(json).sort(), ['agentId', 'joinedAt', 'memberId', 'organizationId', 'role']);
    assert.deepEqual(
      [json.agentId, json.organizationId, json.role],
      [agent.agentId, organizationId, 'admin'],
    );
    assert.equal(
      (await add(organizationId, { agentId: agent.agentId, role: 'member' })).json.code,
      'MEMBER_ALREADY_EXISTS',
    );
    assert.deepEqual(await eventsOf(organizationId), ['organization.created', 'member.added']);
  });
  it('404 for an unknown organization, an unknown agent, and a deleted organization', async () => {
    const { organizationId } = (await create()).json;
    const { agentId } = await t.agent({ organization_id: organizationId });
    assert.equal((await add(randomUUID(), { agentId, role: 'member' })).json.code, 'ORG_NOT_FOUND');
    assert.equal(
      (await add(organizationId, { agentId: randomUUID(), role: 'member' })).json.code,
      'AGENT_NOT_FOUND',
    );
    await t.call('DELETE', `${url}/${organizationId}`, { token });
    assert.equal((await add(organizationId, { agentId, role: 'member' })).json.code, 'ORG_NOT_FOUND');
  });
  it("404 AGENT_NOT_FOUND when an admin adds another organization's agent; 201 by an operator", async () => {
    const { organizationId } = (await create()).json;
    const admin = await memberOf(organizationId, 'admin');
    const foreign = await t.agent();
    const body = { agentId: foreign.agentId, role: 'admin' };
    assert.equal((await add(organizationId, body, admin.token)).json.code, 'AGENT_NOT_FOUND');
    assert.equal((await add(organizationId, body)).status, 201);
    // The role admin in another organization has no effect there: an agent acts in its own organization only.
    const foreignToken = await t.token(undefined, foreign);
    assert.equal((await t.call('GET', `${url}/${organizationId}`, { token: foreignToken })).status, 403);
  });
  it('201 for exactly one of twenty concurrent requests', async () => {
    const { organizationId } = (await create()).json;
    const { agentId } = await t.agent({ organization_id: organizationId });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => add(organizationId, { agentId, role: 'member' })),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.equal(answers.filter(({ status }) => status === 409).length, 19);
  });
});
