/** Display names and labels of agents, and what lists show and sort by. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { newAgent, startApp } from '../../../test/support/harness.ts';

const t = await startApp();
const operator = await t.token();

const create = async (changes: Record<string, unknown>, token = operator) => {
  t.clock.advance(10);
  return t.call('POST', '/api/v1/agents', { token, payload: newAgent(changes) });
};
const change = (agentId: string, payload: Record<string, unknown>) =>
  t.call('PATCH', `/api/v1/agents/${agentId}`, { token: operator, payload });
const read = async (agentId: string) =>
  (await t.call('GET', `/api/v1/agents/${agentId}`, { token: operator })).json;
const list = (query: string, token = operator) => t.call('GET', `/api/v1/agents?${query}`, { token });
const emailsOf = ({ data }: { data: { email: string }[] }) =>
  data.map(({ email }) => email.replace(/@.*/, ''));
const lastEvent = async (agentId: string) =>
  (await t.call('GET', `/api/v1/audit?agentId=${agentId}&limit=1`, { token: operator })).json.data[0];

describe('the display name and the labels of an agent', () => {
  it('201 with both, as GET shows them; PATCH replaces and removes them, and the audit log has them', async () => {
    const wanted = { displayName: 'Résumé reader №1', labels: { team: 'talent', 'a.b/c-d_9': '' } };
    const { status, json, text } = await create(wanted);
    assert.equal(status, 201, text);
    const { agentId } = json;
    const shown = async () => {
      const { displayName, labels } = await read(agentId);
      return { displayName, labels };
    };
    assert.deepEqual(await shown(), wanted);
    const created = (await lastEvent(agentId)).metadata;
    assert.deepEqual([created.displayName, created.labels], [wanted.displayName, wanted.labels]);

    const same = await change(agentId, { labels: { 'a.b/c-d_9': '', team: 'talent' } });
    assert.equal(same.json.updatedAt, json.updatedAt, 'the order of the keys is no change');
    const replaced = await change(agentId, { labels: { team: 'Talent & co' } });
    assert.equal(replaced.status, 200, replaced.text);
    assert.deepEqual(await shown(), { ...wanted, labels: { team: 'Talent & co' } });
    const foundBy = async (label: string) => (await list(`label=${encodeURIComponent(label)}`)).json.total;
    assert.deepEqual([await foundBy('team:Talent & co'), await foundBy('a.b/c-d_9')], [1, 0]);
    const { action, metadata } = await lastEvent(agentId);
    assert.deepEqual(
      [action, metadata.changed, metadata.labels],
      ['agent.updated', ['labels'], { team: 'Talent & co' }],
    );

    assert.equal((await change(agentId, { displayName: null, labels: {} })).status, 200);
    assert.deepEqual(await shown(), { displayName: null, labels: {} });
    const removed = (await lastEvent(agentId)).metadata;
    assert.deepEqual([removed.displayName, removed.labels], [undefined, undefined]);
    assert.deepEqual(removed.changed, ['displayName', 'labels']);
  });

  const keys = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, 'x']));

  for (const [what, fields] of [
    ['20 labels', { labels: keys(20) }],
    ['a key and a value of 63 characters', { labels: { ['k'.repeat(63)]: 'v'.repeat(63) } }],
    ['a name of 64 characters', { displayName: 'n'.repeat(64) }],
    ['a name of one character', { displayName: 'Ω' }],
    ['a name with blanks and signs inside', { displayName: '支払い 🤖 & Co  2' }],
    ['a key that objects have by birth', { labels: { constructor: 'x' } }],
  ] as const)
    it(`201 with ${what}`, async () => {
      const { status, json, text } = await create(fields);
      assert.equal(status, 201, text);
      for (const [field, value] of Object.entries(fields)) assert.deepEqual(json[field], value);
    });

  for (const [field, value] of [
    ['displayName', ''],
    ['displayName', ' \u200b'],
    ['displayName', 'n'.repeat(65)],
    ['displayName', 'a\nb'],
    ['displayName', 'a\u202eb'],
    ...['\u200b', '\u200d', '\u3164', '\u2800', '\u115f', '\ufe0f', '\u{e0041}'].map((hidden) => [
      'displayName',
      `pay${hidden}ments`,
    ]),
    ['displayName', 'payments\u3164'],
    ['displayName', 'payments '],
    ['displayName', 'pay\u00a0ments'],
    ['displayName', 7],
    ['labels', null],
    ['labels', []],
    ['labels', { Team: 'x' }],
    ['labels', { '-team': 'x' }],
    ['labels', { 'a:b': 'x' }],
    ['labels', { '': 'x' }],
    ['labels', { ['k'.repeat(64)]: 'x' }],
    ['labels', keys(21)],
    ['labels.team', { team: 'v'.repeat(64) }],
    ['labels.team', { team: ' x' }],
    ['labels.team', { team: 'x ' }],
    ['labels.team', { team: 'a\tb' }],
    ['labels.team', { team: 'a\u200bb' }],
    ['labels.team', { team: 'a\u2066b' }],
    ['labels.team', { team: 7 }],
    ['labels.team', { team: null }],
  ] as [string, unknown][])
    it(`400 VALIDATION_ERROR for ${field} ${JSON.stringify(value).slice(0, 30)}`, async () => {
      const { status, json } = await create({ [field.split('.')[0] as string]: value });
      assert.deepEqual([status, json.code, json.details?.fields[0].field], [400, 'VALIDATION_ERROR', field]);
    });

  it('400 names the form of a key, and the wrong key', async () => {
    const { json } = await create({ labels: { team: 'x', Team: 'x' } });
    assert.match(
      json.message,
      /^labels must be an object with keys of 1 to 63 characters of a-z, .*; "Team" is no such key$/,
    );
  });

  it('neither is in a token, nor in the agent card', async () => {
    const identifier = 'https://labels.example';
    const resource = await t.call('POST', '/api/v1/resources', {
      token: operator,
      payload: { identifier, name: 'L', scopes: [{ name: 'a' }], claims: ['agentType', 'owner'] },
    });
    const agent = await t.agent({ displayName: 'Unmistakable', labels: { secretive: 'unmistakable' } });
    const granted = await t.call(
      'PUT',
      `/api/v1/agents/${agent.agentId}/grants/${resource.json.resourceId}`,
      {
        token: operator,
        payload: { scopes: ['a'] },
      },
    );
    assert.equal(granted.status, 200, granted.text);
    const form = {
      client_id: agent.agentId,
      client_secret: agent.clientSecret,
      grant_type: 'client_credentials',
    };
    const { json } = await t.form('/api/v1/token', { ...form, resource: identifier });
    const claims = decodeJwt(json.access_token);
    assert.equal(claims.owner, 'talent-team');
    assert.doesNotMatch(JSON.stringify(claims), /unmistakable/i);
    const card = await t.call('GET', `/api/v1/agents/${agent.agentId}/did/card`, { token: operator });
    assert.equal(card.status, 200, card.text);
    assert.doesNotMatch(card.text, /unmistakable/i);
    const claimed = await t.call('PATCH', `/api/v1/resources/${resource.json.resourceId}`, {
      token: operator,
      payload: { claims: ['labels'] },
    });
    assert.equal(claimed.status, 400);
  });
});

describe('GET /agents', async () => {
  const { organizationId } = (
    await t.call('POST', '/api/v1/organizations', {
      token: operator,
      payload: { name: 'Lists', slug: 'lists', planTier: 'pro' },
    })
  ).json;
  const viewer = await t.agent({
    organization_id: organizationId,
    email: 'zz@lists.example',
    owner: 'viewer',
  });
  const token = await t.token(undefined, viewer);
  for (const [email, displayName, labels] of [
    ['carol', 'beta', { team: 'talent', env: 'prod' }],
    ['Bob', null, { team: 'talent', env: 'test' }],
    ['dave', 'Alpha 100%', { team: 'a:b' }],
    ['alice', 'Gamma', { env: 'prod', empty: '' }],
    ['erin', 'beta', {}],
  ] as const)
    assert.equal((await create({ email: `${email}@lists.example`, displayName, labels }, token)).status, 201);
  await create({ email: 'foreign@lists.example', displayName: 'beta', labels: { team: 'talent' } });

  const cases: [string, string[]][] = [
    ['label=team:talent', ['Bob', 'carol']],
    ['label=team', ['dave', 'Bob', 'carol']],
    ['label=team&label=env', ['Bob', 'carol']],
    ['label=team:talent&label=env:prod', ['carol']],
    ['label=team:talent&label=team:a:b', []],
    ['label=team:a:b', ['dave']],
    ['label=team:tal', []],
    ['label=te', []],
    ['label=talent', []],
    ['label=empty:', ['alice']],
    ['label=team:', []],
    ['label=env:prod&status=active&q=alice', ['alice']],
    ['label=constructor', []],
    ['q=BETA', ['erin', 'carol']],
    ['q=alpha%20100%25', ['dave']],
    ['q=100%25', []],
    ['q=b', ['erin', 'Bob', 'carol']],
    ['sort=name', ['dave', 'carol', 'erin', 'Bob', 'alice', 'zz']],
    ['sort=email', ['alice', 'Bob', 'carol', 'dave', 'erin', 'zz']],
    ['sort=email&order=desc', ['zz', 'erin', 'dave', 'carol', 'Bob', 'alice']],
    ['sort=createdAt', ['erin', 'alice', 'dave', 'Bob', 'carol', 'zz']],
    ['sort=createdAt&order=asc', ['zz', 'carol', 'Bob', 'dave', 'alice', 'erin']],
    ['order=asc', ['zz', 'carol', 'Bob', 'dave', 'alice', 'erin']],
    ['sort=email&label=env', ['alice', 'Bob', 'carol']],
  ];
  for (const [query, expected] of cases)
    it(`200 by ${query}`, async () => {
      const { status, json, text } = await list(query, token);
      assert.equal(status, 200, text);
      // Two agents share a name, and are in the order of their ids.
      const found = emailsOf(json);
      assert.deepEqual(query === 'sort=name' ? sortedPair(found) : found, expected);
      assert.equal(json.total, expected.length);
    });
  const sortedPair = ([first = '', ...rest]: string[]) => [
    first,
    ...rest.slice(0, 2).sort(),
    ...rest.slice(2),
  ];

  for (const sort of ['name', 'email', 'createdAt'])
    for (const order of ['asc', 'desc'])
      it(`200 by ${sort}, ${order}: pages have each agent once, in the order of the whole list`, async () => {
        const query = `sort=${sort}&order=${order}`;
        const whole = emailsOf((await list(query, token)).json);
        const pages: string[] = [];
        for (const page of [1, 2, 3])
          pages.push(...emailsOf((await list(`${query}&limit=2&page=${page}`, token)).json));
        assert.equal(whole.length, 6);
        assert.deepEqual(pages, whole);
      });

  it('200 across organizations for an operator', async () => {
    const { json } = await list('label=team:talent&sort=email');
    assert.deepEqual(emailsOf(json), ['Bob', 'carol', 'foreign']);
  });

  for (const query of [
    'label=',
    'label=Team',
    'label=:x',
    'label=team:x%20',
    'label=team:a%00',
    `label=team:${'v'.repeat(64)}`,
    `label=${'k'.repeat(64)}`,
    Array.from({ length: 21 }, () => 'label=a').join('&'),
    'sort=owner',
    'sort=name&sort=email',
    'order=up',
    'include=secrets',
  ])
    it(`400 VALIDATION_ERROR for ${query.slice(0, 30)}`, async () => {
      const { status, json } = await list(query, token);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
    });
});

describe('GET /agents?include=activity', () => {
  it('counts the APIs that the agent has a grant for', async () => {
    const { agentId } = (await create({})).json;
    const countOf = async () => (await list(`ids=${agentId}&include=activity`)).json.data[0].grantedApis;
    assert.equal(await countOf(), 0);
    const { json: api } = await t.call('POST', '/api/v1/resources', {
      token: operator,
      payload: { identifier: 'https://counted.example', name: 'Counted', scopes: [{ name: 'a' }] },
    });
    await t.call('PUT', `/api/v1/agents/${agentId}/grants/${api.resourceId}`, {
      token: operator,
      payload: { scopes: ['a'] },
    });
    assert.equal(await countOf(), 1);
  });

  const activityOf = async (agentId: string) => {
    const { status, json, text } = await list(`ids=${agentId}&include=activity`);
    assert.equal(status, 200, text);
    const { lastTokenDate, secretExpiresAt } = json.data[0];
    return { lastTokenDate, secretExpiresAt };
  };
  const inDays = (days: number) => new Date(t.clock.now() + days * 86_400_000).toISOString();
  const secret = async (agentId: string, expiresAt?: string) =>
    (
      await t.call('POST', `/api/v1/agents/${agentId}/credentials`, {
        token: await t.token(),
        payload: expiresAt === undefined ? {} : { expiresAt },
      })
    ).json.credentialId;

  it('200 without the fields by default', async () => {
    const { json } = await list('limit=1');
    assert.equal('lastTokenDate' in json.data[0] || 'secretExpiresAt' in json.data[0], false);
  });

  it('200 with the earliest end of a secret that still counts', async () => {
    const { agentId } = (await create({})).json;
    assert.equal((await activityOf(agentId)).secretExpiresAt, null, 'none');
    const [soon, later] = [inDays(5), inDays(9)];
    const revoked = await secret(agentId, inDays(3));
    await t.call('DELETE', `/api/v1/agents/${agentId}/credentials/${revoked}`, { token: operator });
    await secret(agentId, later);
    await secret(agentId, soon);
    assert.equal((await activityOf(agentId)).secretExpiresAt, soon);
    await t.sql("update credentials set expires_at = expires_at - interval '6 days' where agent_id = $1", [
      agentId,
    ]);
    assert.equal(
      (await activityOf(agentId)).secretExpiresAt,
      new Date(Date.parse(later) - 6 * 86_400_000).toISOString(),
    );
    await t.sql("update credentials set expires_at = expires_at - interval '6 days' where agent_id = $1", [
      agentId,
    ]);
    const last = new Date(Date.parse(later) - 12 * 86_400_000).toISOString();
    assert.equal((await activityOf(agentId)).secretExpiresAt, last, 'all have expired');
    await secret(agentId);
    assert.equal((await activityOf(agentId)).secretExpiresAt, null, 'a secret without an end remains');
  });

  it('200 with the day of the newest token of each agent, over a change of month and within 400 days', async () => {
    const [used, other] = [await t.agent(), await t.agent()];
    const today = inDays(0).slice(0, 10);
    await t.token(undefined, used);
    await t.app.usage.countIssued();
    assert.equal((await activityOf(used.agentId)).lastTokenDate, today);
    assert.equal((await activityOf(other.agentId)).lastTokenDate, null);
    // Calls are no tokens.
    await t.sql("insert into usage_days values ($1, $2, 'api_calls', $3, 0, 1)", [
      t.operator.organizationId,
      today,
      used.agentId,
    ]);
    for (const days of [1, 35, 390]) {
      // As tokens of that day would have been counted.
      const moved = inDays(-days).slice(0, 10);
      await t.sql('update usage_days set day = $1 where agent_id = $2 and metric = $3', [
        moved,
        used.agentId,
        'tokens_issued',
      ]);
      await t.sql("update token_months set month = date_trunc('month', $1::date) where agent_id = $2", [
        moved,
        used.agentId,
      ]);
      assert.equal((await activityOf(used.agentId)).lastTokenDate, moved);
    }
  });
});
