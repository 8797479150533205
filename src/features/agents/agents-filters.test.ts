import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';

const t = await startApp();
const operator = await t.token();
const { organizationId: otherHome } = (
  await t.call('POST', '/api/v1/organizations', {
    token: operator,
    payload: { name: 'Other', slug: 'other', planTier: 'pro' },
  })
).json;
const viewer = await t.agent({ email: 'viewer@zz.example', owner: 'viewer' });
const token = await t.token(undefined, viewer);

const make = async (changes: Record<string, unknown>): Promise<string> => {
  t.clock.advance(10);
  const { status, json, text } = await t.call('POST', '/api/v1/agents', {
    token: operator,
    payload: newAgent(changes),
  });
  assert.equal(status, 201, text);
  return json.agentId;
};
const names = {
  screener: await make({
    email: 'Screener.EU@talent.example',
    owner: '100%_team',
    deploymentEnv: 'production',
    capabilities: ['cv:read', 'mail:send'],
  }),
  sender: await make({
    email: 'sender@talent.example',
    owner: 'Screening',
    deploymentEnv: 'staging',
    capabilities: ['mail:send'],
  }),
  backslash: await make({
    email: 'other@talent.example',
    owner: 'back\\slash',
    deploymentEnv: 'production',
    capabilities: ['mail:sendmore'],
  }),
  foreign: await make({
    email: 'screener@foreign.example',
    owner: 'Screening',
    deploymentEnv: 'production',
    capabilities: ['cv:read'],
    organization_id: otherHome,
  }),
};
type Name = keyof typeof names;
await t.sql("update agents set client_uri = 'https://client.example/metadata' where agent_id = any($1)", [
  [names.backslash, names.foreign],
]);

const list = (query: Record<string, string>, as = token) =>
  t.call('GET', `/api/v1/agents?${new URLSearchParams(query)}`, { token: as });

const unknownId = '00000000-0000-4000-8000-000000000000';

const cases: [string, Record<string, string>, Name[]][] = [
  ['one id', { ids: names.sender }, ['sender']],
  ['ids, newest first in any order', { ids: `${names.screener},${names.sender}` }, ['sender', 'screener']],
  [
    'ids in upper case, one of them twice',
    { ids: `${names.sender.toUpperCase()},${names.sender}` },
    ['sender'],
  ],
  [
    "ids, one unknown and one another organization's",
    { ids: `${unknownId},${names.foreign},${names.sender}` },
    ['sender'],
  ],
  ['ids that are all unknown', { ids: unknownId }, []],
  [
    'ids and the environment',
    { ids: `${names.screener},${names.sender}`, deploymentEnv: 'staging' },
    ['sender'],
  ],
  ['ids and a status that none has', { ids: names.sender, status: 'suspended' }, []],
  ['the e-mail address', { email: 'sender@talent.example' }, ['sender']],
  ['the e-mail address in another case', { email: 'SCREENER.eu@Talent.Example' }, ['screener']],
  ['an unused e-mail address', { email: 'unused@talent.example' }, []],
  ['a part of an e-mail address', { email: 'ender@talent.example' }, []],
  ["another organization's e-mail address", { email: 'screener@foreign.example' }, []],
  ['a prefix of e-mail address or owner, in any case', { q: 'SCREEN' }, ['sender', 'screener']],
  ['a whole e-mail address as prefix', { q: 'sender@talent.example' }, ['sender']],
  ['a text within the e-mail address', { q: 'talent' }, []],
  ['a percent sign, which is no wildcard', { q: '100%' }, ['screener']],
  ['a percent sign alone', { q: '%' }, []],
  ['an underscore, which is no wildcard', { q: '100%_' }, ['screener']],
  ['an underscore alone', { q: '_ender' }, []],
  ['a backslash', { q: 'back\\s' }, ['backslash']],
  ['a backslash at the end', { q: 'back\\' }, ['backslash']],
  ['the environment', { deploymentEnv: 'staging' }, ['sender']],
  ['the environment and a prefix', { deploymentEnv: 'production', q: 'oth' }, ['backslash']],
  ['a capability', { capability: 'mail:send' }, ['sender', 'screener']],
  ['a capability of another organization', { capability: 'cv:read' }, ['screener']],
  ['a capability that is a prefix of one', { capability: 'mail:sen' }, []],
  ['capability and environment', { capability: 'mail:send', deploymentEnv: 'production' }, ['screener']],
  ['the registration by a document', { registration: 'document' }, ['backslash']],
  ['the registration by hand, and a prefix', { registration: 'manual', q: 'oth' }, []],
  [
    'all of them together',
    {
      capability: 'mail:send',
      deploymentEnv: 'production',
      q: 'screener',
      email: 'screener.eu@talent.example',
      owner: '100%_team',
      status: 'active',
      agentType: 'screener',
    },
    ['screener'],
  ],
  ['filters that exclude each other', { email: 'sender@talent.example', deploymentEnv: 'production' }, []],
];

describe('filters of GET /agents', () => {
  for (const [what, query, expected] of cases)
    it(`200 by ${what}`, async () => {
      const { status, json, text } = await list(query);
      assert.equal(status, 200, text);
      assert.deepEqual(
        json.data.map(({ agentId }: { agentId: string }) => agentId),
        expected.map((name) => names[name]),
      );
      assert.equal(json.total, expected.length);
    });

  it('200 across organizations for an operator, and the total counts every page', async () => {
    const { json } = await list({ q: 'screen', limit: '1', page: '2' }, operator);
    assert.deepEqual([json.total, json.data.length, json.data[0].agentId], [3, 1, names.sender]);
  });
  it('200 by organization: for an operator any, for others only their own', async () => {
    const idsOf = async (query: Record<string, string>, as?: string) => {
      const { status, json, text } = await list({ limit: '100', ...query }, as);
      assert.equal(status, 200, text);
      assert.equal(json.total, json.data.length);
      return json.data.map(({ agentId }: { agentId: string }) => agentId);
    };
    assert.ok((await idsOf({ organizationId: otherHome }, operator)).includes(names.foreign));
    assert.ok(!(await idsOf({ organizationId: otherHome }, operator)).includes(names.sender));
    const prefix = { organizationId: otherHome, q: 'screen', status: 'active' };
    assert.deepEqual(await idsOf(prefix, operator), [names.foreign]);
    assert.deepEqual(await idsOf({ organizationId: otherHome }), []);
    assert.deepEqual(await idsOf({ organizationId: unknownId }), []);
    assert.equal((await list({ organizationId: 'x' })).json.code, 'VALIDATION_ERROR');
  });
  it('200 by environment counts only the own organization', async () => {
    const theirs = await t.call('GET', '/api/v1/agents?deploymentEnv=production', { token: operator });
    const ours = await list({ deploymentEnv: 'production' });
    assert.equal(theirs.json.total, ours.json.total + 1);
    assert.ok(ours.json.data.every(({ agentId }: { agentId: string }) => agentId !== names.foreign));
  });
  it('200 by a hundred ids, and for an operator those of every organization', async () => {
    const ids = [names.sender, names.foreign, ...Array.from({ length: 98 }, () => crypto.randomUUID())];
    const { status, json, text } = await list({ ids: ids.join(','), limit: '100' }, operator);
    assert.equal(status, 200, text);
    assert.deepEqual(
      json.data.map(({ agentId }: { agentId: string }) => agentId),
      [names.foreign, names.sender],
    );
    assert.equal((await list({ ids: [...ids, unknownId].join(',') })).json.code, 'VALIDATION_ERROR');
  });
  for (const [field, value] of [
    ['ids', ''],
    ['ids', 'x'],
    ['ids', `${unknownId},`],
    ['ids', `,${unknownId}`],
    ['ids', `${unknownId}, ${unknownId}`],
    ['ids', `urn:uuid:${unknownId}`],
    ['email', ''],
    ['email', 'no address'],
    ['email', `${'a'.repeat(250)}@b.example`],
    ['q', ''],
    ['q', 'a'.repeat(255)],
    ['q', 'a\0'],
    ['deploymentEnv', ''],
    ['deploymentEnv', 'Production'],
    ['capability', ''],
    ['capability', 'resume'],
    ['capability', `a:${'b'.repeat(127)}`],
  ] as const)
    it(`400 VALIDATION_ERROR for ${field}=${JSON.stringify(value.slice(0, 12))}`, async () => {
      const { status, json } = await list({ [field]: value });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
    });
  it('400 VALIDATION_ERROR for a filter that is given twice', async () => {
    const { json } = await t.call('GET', '/api/v1/agents?q=a&q=b', { token });
    assert.equal(json.message, 'q is given more than once');
  });
});

describe('filter of GET /agents/{agentId}/credentials', () => {
  it('200 by status, with its own total', async () => {
    const url = `/api/v1/agents/${names.sender}/credentials`;
    const [first, second] = [
      (await t.call('POST', url, { token: operator })).json,
      (await t.call('POST', url, { token: operator })).json,
    ];
    await t.call('DELETE', `${url}/${first.credentialId}`, { token: operator });
    for (const [status, { credentialId }] of [
      ['revoked', first],
      ['active', second],
    ] as const) {
      const { json } = await t.call('GET', `${url}?status=${status}`, { token });
      assert.deepEqual([json.total, json.data.length, json.data[0].credentialId], [1, 1, credentialId]);
    }
    for (const status of ['', 'expired'])
      assert.equal((await t.call('GET', `${url}?status=${status}`, { token })).json.code, 'VALIDATION_ERROR');
  });
});
