import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../../test/support/harness.ts';

const t = await startApp();
const token = await t.token();
const url = '/api/v1/oidc/trust-policies';
const agent = await t.agent({ allowedScopes: ['agents:read', 'audit:read'] });

let made = 0;
const wanted = (changes: object = {}) => {
  made += 1;
  return {
    agentId: agent.agentId,
    name: 'Deployments',
    provider: 'github',
    audiences: ['https://id.example.com'],
    subject: `repo:octo-org/app-${made}:ref:refs/heads/main`,
    scopes: ['agents:read'],
    ...changes,
  };
};
const create = (changes: object = {}, as = token) =>
  t.call('POST', url, { token: as, payload: wanted(changes) });
const made201 = async (changes: object = {}) => {
  const { status, json } = await create(changes);
  assert.equal(status, 201, JSON.stringify(json));
  return json;
};
const patch = (id: string, payload: object, as = token) =>
  t.call('PATCH', `${url}/${id}`, { token: as, payload });

describe('PATCH /oidc/trust-policies/{policyId} without a body', () => {
  it('200 changes nothing', async () => {
    const { policyId, updatedAt } = await made201();
    const answer = await t.call('PATCH', `${url}/${policyId}`, { token });
    assert.deepEqual([answer.status, answer.json.updatedAt], [200, updatedAt]);
  });
  it('403 AGENT_DECOMMISSIONED for a change when the agent is decommissioned; DELETE still works', async () => {
    const gone = await t.agent({ allowedScopes: ['agents:read'] });
    const { policyId } = await made201({ agentId: gone.agentId });
    await t.call('DELETE', `/api/v1/agents/${gone.agentId}`, { token });
    const answer = await patch(policyId, { name: 'Other' });
    assert.deepEqual([answer.status, answer.json.code], [403, 'AGENT_DECOMMISSIONED']);
    assert.equal((await t.call('DELETE', `${url}/${policyId}`, { token })).status, 204);
  });
});

describe('POST /oidc/trust-policies', () => {
  it('201 with every field and the defaults', async () => {
    const { policyId, createdAt, updatedAt, subject, ...rest } = await made201();
    assert.match(policyId, /^[0-9a-f-]{36}$/);
    assert.match(subject, /^repo:octo-org/);
    assert.equal(createdAt, updatedAt);
    assert.deepEqual(rest, {
      organizationId: t.operator.organizationId,
      agentId: agent.agentId,
      name: 'Deployments',
      provider: 'github',
      issuer: 'https://token.actions.githubusercontent.com',
      jwksUri: null,
      audiences: ['https://id.example.com'],
      conditions: [],
      scopes: ['agents:read'],
      resources: [],
      actsAsAdmin: false,
      maxTokenAgeSeconds: 600,
      singleUse: true,
      status: 'active',
      lastUsedAt: null,
    });
  });
  it('201 with every optional field', async () => {
    const given = {
      provider: 'kubernetes',
      issuer: 'https://oidc.cluster.example/id/7',
      jwksUri: 'https://oidc.cluster.example/id/7/keys?v=1',
      audiences: ['a', 'b'],
      subject: 'system:serviceaccount:prod:*',
      conditions: [
        { claim: '/kubernetes.io/serviceaccount/name', operator: 'in', values: ['x', 'y'] },
        { claim: 'jti', operator: 'exists' },
      ],
      scopes: ['audit:read', 'agents:read'],
      maxTokenAgeSeconds: 3600,
      singleUse: false,
      status: 'disabled',
    };
    const policy = await made201(given);
    for (const [field, value] of Object.entries({ ...given, scopes: ['agents:read', 'audit:read'] }))
      assert.deepEqual(policy[field], value, field);
    assert.deepEqual((await t.call('GET', `${url}/${policy.policyId}`, { token })).json, policy);
  });
  it("201 with azure's azp where idtyp requires an app-only token", async () => {
    const conditions = [
      { claim: 'azp', operator: 'equals', values: ['8d7c0000-0000-4000-8000-000000000001'] },
      { claim: 'idtyp', operator: 'equals', values: ['app'] },
    ];
    const issuer = 'https://login.microsoftonline.com/tenant/v2.0';
    const policy = await made201({ provider: 'azure', issuer, subject: null, conditions });
    const answer = await patch(policy.policyId, { conditions: conditions.slice(0, 1) });
    assert.deepEqual([answer.status, answer.json.code], [400, 'VALIDATION_ERROR']);
  });
  it('201 for an EKS issuer as kubernetes and as aws; for a Cognito issuer as custom', async () => {
    const eks = 'https://oidc.eks.eu-west-1.amazonaws.com/id/0A1B';
    const cognito = 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_pool';
    for (const [provider, issuer] of [
      ['kubernetes', eks],
      ['aws', eks],
      ['custom', cognito],
    ])
      await made201({ provider, issuer, subject: `system:serviceaccount:prod:${provider}` });
  });
  it('409 TRUST_POLICY_ALREADY_EXISTS for an equal policy of the same agent, in any order of its lists', async () => {
    const conditions = [
      { claim: 'ref', operator: 'in', values: ['a', 'b'] },
      { claim: 'x', operator: 'exists' },
    ];
    const policy = await made201({ audiences: ['a', 'b'], conditions });
    const { subject } = policy;
    const same = {
      subject,
      name: 'Other',
      audiences: ['b', 'a'],
      conditions: [conditions[1], { ...conditions[0], values: ['b', 'a'] }],
      scopes: [],
    };
    assert.equal((await create(same)).json.code, 'TRUST_POLICY_ALREADY_EXISTS');
    const other = await t.agent({ allowedScopes: [] });
    assert.equal((await create({ ...same, agentId: other.agentId })).status, 201);
    assert.equal((await create({ ...same, audiences: ['a'] })).status, 201);
  });
  it('409 for all but one of 50 concurrent requests', async () => {
    const payload = wanted();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => t.call('POST', url, { token, payload })),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.equal(answers.filter(({ status }) => status === 409).length, 49);
  });
  for (const [what, changes, field] of [
    ['no agent', { agentId: undefined }, 'agentId'],
    ['an agentId that is not a UUID', { agentId: 'x' }, 'agentId'],
    ['no name', { name: undefined }, 'name'],
    ['an unknown provider', { provider: 'jenkins' }, 'provider'],
    ['no audiences', { audiences: [] }, 'audiences'],
    ['an empty audience', { audiences: [''] }, 'audiences[0]'],
    ['eleven audiences', { audiences: Array.from({ length: 11 }, String) }, 'audiences'],
    ['no scopes', { scopes: undefined }, 'scopes'],
    ['an unknown scope', { scopes: ['agents:everything'] }, 'scopes[0]'],
    ['an issuer by http', { provider: 'custom', issuer: 'http://x.example' }, 'issuer'],
    ['an issuer with credentials', { provider: 'custom', issuer: 'https://a:b@x.example' }, 'issuer'],
    ['no issuer where there is no default', { provider: 'azure' }, 'issuer'],
    [
      "GitHub's issuer under another name",
      { provider: 'custom', issuer: 'https://token.actions.githubusercontent.com' },
      'issuer',
    ],
    ...(
      [
        ['https://login.microsoftonline.com/tenant/v2.0', 'custom'],
        ['https://sts.windows.net/tenant/', 'custom'],
        ['https://sts.windows.net/tenant/', 'gcp'],
        ['https://login.microsoftonline.us/tenant/v2.0', 'custom'],
        ['https://login.partner.microsoftonline.cn/tenant/v2.0', 'custom'],
        ['https://sts.chinacloudapi.cn/tenant/', 'custom'],
        ['https://token.actions.octocorp.ghe.com', 'custom'],
        ['https://0a1b.tokens.sts.global.api.aws', 'custom'],
        ['https://0a1b.tokens.sts.global.api.aws', 'kubernetes'],
        ['https://oidc.eks.eu-west-1.amazonaws.com/id/0A1B', 'custom'],
        ['https://oidc.eks.cn-north-1.amazonaws.com.cn/id/0A1B', 'custom'],
        ['https://oidc-eks.eu-west-1.api.aws/id/0A1B', 'custom'],
        ['https://westeurope.oic.prod-aks.azure.com/tenant/cluster/', 'custom'],
        ['https://container.googleapis.com/v1/projects/p/locations/l/clusters/c', 'custom'],
      ] as const
    ).map(
      ([issuer, provider]) =>
        [`${issuer} as ${provider}`, { issuer, provider, subject: 'a-1' }, 'issuer'] as const,
    ),
    ["GitHub's issuer with keys from elsewhere", { jwksUri: 'https://evil.example/jwks' }, 'jwksUri'],
    [
      'a key set by http',
      { provider: 'custom', issuer: 'https://x.example', jwksUri: 'http://x.example/k' },
      'jwksUri',
    ],
    ['a bare *', { subject: '*' }, 'subject'],
    ['no subject and no condition', { subject: null }, 'subject'],
    [
      'a condition on ref alone',
      { subject: null, conditions: [{ claim: 'ref', operator: 'equals', values: ['x'] }] },
      'subject',
    ],
    [
      'a condition on environment alone',
      { subject: null, conditions: [{ claim: 'environment', operator: 'in', values: ['x'] }] },
      'subject',
    ],
    [
      "a condition on gcp's azp alone",
      {
        ...{ provider: 'gcp', subject: null },
        conditions: [
          { claim: 'azp', operator: 'equals', values: ['32555940559.apps.googleusercontent.com'] },
        ],
      },
      'subject',
    ],
    [
      "a condition on azure's azp alone",
      {
        ...{ provider: 'azure', issuer: 'https://login.microsoftonline.com/tenant/v2.0', subject: null },
        conditions: [{ claim: 'azp', operator: 'equals', values: ['04b07795-8ddb-461a-bbee-02f9e1bf7b46'] }],
      },
      'subject',
    ],
    [
      'an unknown operator',
      { conditions: [{ claim: 'ref', operator: 'matches', values: ['x'] }] },
      'conditions[0].operator',
    ],
    [
      'equals with two values',
      { conditions: [{ claim: 'ref', operator: 'equals', values: ['x', 'y'] }] },
      'conditions[0].values',
    ],
    ['in without values', { conditions: [{ claim: 'ref', operator: 'in' }] }, 'conditions[0].values'],
    [
      'exists with a value',
      { conditions: [{ claim: 'ref', operator: 'exists', values: ['x'] }] },
      'conditions[0].values',
    ],
    ['an age of 0', { maxTokenAgeSeconds: 0 }, 'maxTokenAgeSeconds'],
    ['an age of a day and a second', { maxTokenAgeSeconds: 86_401 }, 'maxTokenAgeSeconds'],
    ['singleUse as text', { singleUse: 'no' }, 'singleUse'],
    ['an unknown status', { status: 'paused' }, 'status'],
    ['an unknown field', { organizationId: randomUUID() }, 'organizationId'],
  ] as const) {
    it(`400 VALIDATION_ERROR naming ${field}, for ${what}`, async () => {
      const { status, json } = await create(changes);
      assert.equal(status, 400, JSON.stringify(json));
      assert.equal(json.code, 'VALIDATION_ERROR');
      assert.equal(json.details.fields[0].field, field);
    });
  }
  it('400 for NUL, a lone surrogate and __proto__', async () => {
    for (const body of [
      JSON.stringify(wanted({ name: 'a\0' })),
      JSON.stringify(wanted()).replace('Deployments', '\\ud800'),
      JSON.stringify(wanted()).replace('{', '{"__proto__":{},'),
    ]) {
      const headers = { 'content-type': 'application/json' };
      assert.equal(
        (await t.call('POST', url, { token, headers, payload: body })).json.code,
        'VALIDATION_ERROR',
      );
    }
  });
});

describe('authorization of trust policies', () => {
  const client = async (scopes: string[], changes: object = {}) => {
    const made = await t.agent({ allowedScopes: scopes, ...changes });
    return { ...made, token: await t.token(undefined, made) };
  };
  it('404 AGENT_NOT_FOUND for an unknown agent, and for one of another organization', async () => {
    assert.equal((await create({ agentId: randomUUID() })).json.code, 'AGENT_NOT_FOUND');
    const organization = await t.call('POST', '/api/v1/organizations', {
      token,
      payload: { name: 'Other', slug: `other-${randomUUID().slice(0, 8)}` },
    });
    const foreign = await t.agent({ organization_id: organization.json.organizationId, allowedScopes: [] });
    const writer = await client(['agents:write', 'agents:read']);
    assert.equal(
      (await create({ agentId: foreign.agentId, scopes: [] }, writer.token)).json.code,
      'AGENT_NOT_FOUND',
    );
    const { json, status } = await create({ agentId: foreign.agentId, scopes: [] });
    assert.deepEqual([status, json.organizationId], [201, organization.json.organizationId]);
    for (const [method, path, payload] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'x' }],
      ['DELETE', '', undefined],
      ['POST', '/test', { token: 'x' }],
    ] as const) {
      const answer = await t.call(method, `${url}/${json.policyId}${path}`, {
        token: writer.token,
        ...(payload && { payload }),
      });
      assert.deepEqual([answer.status, answer.json.code], [404, 'TRUST_POLICY_NOT_FOUND'], method);
    }
    const list = await t.call('GET', `${url}?limit=100`, { token: writer.token });
    assert.ok(list.json.data.every((policy: { policyId: string }) => policy.policyId !== json.policyId));
  });
  it('403 FORBIDDEN for scopes that the agent may not hold', async () => {
    const { status, json } = await create({ scopes: ['agents:read', 'webhooks:write'] });
    assert.deepEqual([status, json.code, json.details.exceeded], [403, 'FORBIDDEN', ['webhooks:write']]);
  });
  it("403 FORBIDDEN when the agent holds scopes beyond the caller's, even if the policy grants fewer", async () => {
    const writer = await client(['agents:write', 'agents:read']);
    for (const scopes of [['audit:read'], ['agents:read'], []])
      assert.equal((await create({ scopes }, writer.token)).json.code, 'FORBIDDEN');
    const small = await t.agent({ allowedScopes: ['agents:read'] });
    assert.equal((await create({ agentId: small.agentId }, writer.token)).status, 201);
    assert.equal(
      (await create({ agentId: small.agentId, scopes: ['agents:write'] }, writer.token)).status,
      403,
    );
  });
  it("403 FORBIDDEN for an operator's agent, and for an admin's when the caller is not an admin", async () => {
    const writer = await client(['agents:write', 'agents:read']);
    const answer = await create({ agentId: t.operator.agentId, scopes: [] }, writer.token);
    assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN']);
    const admin = await t.agent({ allowedScopes: [] });
    await t.call('POST', `/api/v1/organizations/${t.operator.organizationId}/members`, {
      token,
      payload: { agentId: admin.agentId, role: 'admin' },
    });
    assert.equal((await create({ agentId: admin.agentId, scopes: [] }, writer.token)).status, 403);
  });
  it('403 INSUFFICIENT_SCOPE without agents:write, agents:read', async () => {
    const withoutScopes = await client([]);
    const reader = await client(['agents:read']);
    assert.equal((await create({}, reader.token)).json.code, 'INSUFFICIENT_SCOPE');
    assert.equal((await t.call('GET', url, { token: withoutScopes.token })).json.code, 'INSUFFICIENT_SCOPE');
    assert.equal((await t.call('GET', url, { token: reader.token })).status, 200);
  });
  it('403 AGENT_DECOMMISSIONED for a decommissioned agent', async () => {
    const gone = await t.agent({ allowedScopes: [] });
    await t.call('DELETE', `/api/v1/agents/${gone.agentId}`, { token });
    assert.equal((await create({ agentId: gone.agentId, scopes: [] })).json.code, 'AGENT_DECOMMISSIONED');
  });
});

describe('GET, PATCH and DELETE', () => {
  it('200 lists newest first, by agent, provider and status', async () => {
    const other = (await t.call('POST', '/api/v1/agents', { token, payload: newAgent() })).json;
    const first = await made201({ agentId: other.agentId });
    const second = await made201({
      agentId: other.agentId,
      status: 'disabled',
      provider: 'gitlab',
      subject: 'project_path:g/p',
    });
    const list = async (query: string) =>
      (await t.call('GET', `${url}?agentId=${other.agentId}&${query}`, { token })).json;
    const all = await list('');
    assert.deepEqual([all.data, all.total, all.page, all.limit], [[second, first], 2, 1, 20]);
    assert.deepEqual((await list('status=active')).data, [first]);
    assert.deepEqual((await list('provider=gitlab')).data, [second]);
    const paged = await list('limit=1&page=2');
    assert.deepEqual([paged.data, paged.total], [[first], 2]);
    assert.equal((await t.call('GET', `${url}?limit=101`, { token })).status, 400);
    assert.equal((await t.call('GET', `${url}?agentId=x`, { token })).status, 400);
  });
  it('200 changes the given fields; nothing for an empty body or equal values', async () => {
    const before = await made201();
    assert.deepEqual((await patch(before.policyId, {})).json, before);
    assert.deepEqual(
      (await patch(before.policyId, { name: before.name, scopes: before.scopes })).json,
      before,
    );
    t.clock.advance(10);
    const change = {
      name: 'Renamed',
      subject: null,
      conditions: [{ claim: 'repository', operator: 'equals', values: ['octo-org/app'] }],
      audiences: ['x'],
      scopes: [],
      maxTokenAgeSeconds: 60,
      singleUse: false,
      status: 'disabled',
    };
    const { json } = await patch(before.policyId, change);
    assert.deepEqual(json, { ...before, ...change, updatedAt: json.updatedAt });
    assert.notEqual(json.updatedAt, before.updatedAt);
  });
  it('400 for a change that loses specificity, and for immutable fields', async () => {
    const { policyId } = await made201();
    for (const change of [
      { subject: null },
      { subject: '*' },
      { issuer: 'https://gitlab.com' },
      { jwksUri: 'https://x.example' },
    ])
      assert.equal((await patch(policyId, change)).json.code, 'VALIDATION_ERROR', JSON.stringify(change));
    for (const field of ['policyId', 'organizationId', 'agentId', 'provider', 'createdAt'])
      assert.equal((await patch(policyId, { [field]: 'x' })).json.code, 'IMMUTABLE_FIELD', field);
    assert.equal((await patch(policyId, { lastUsedAt: null })).json.code, 'VALIDATION_ERROR');
  });
  it('403 FORBIDDEN to change a policy that the caller could not create; 409 to make it equal to another', async () => {
    const policy = await made201();
    const writer = await t.token(undefined, await t.agent({ allowedScopes: ['agents:write'] }));
    assert.equal(
      (await patch(policy.policyId, { subject: 'repo:evil/app:*' }, writer)).json.code,
      'FORBIDDEN',
    );
    assert.equal((await patch(policy.policyId, { scopes: ['webhooks:read'] })).json.code, 'FORBIDDEN');
    const other = await made201();
    assert.equal(
      (await patch(other.policyId, { subject: policy.subject })).json.code,
      'TRUST_POLICY_ALREADY_EXISTS',
    );
  });
  it('204 deletes, then 404 TRUST_POLICY_NOT_FOUND; a malformed id is 400', async () => {
    const { policyId } = await made201();
    const path = `${url}/${policyId}`;
    assert.equal((await t.call('DELETE', path, { token })).status, 204);
    for (const method of ['GET', 'DELETE'] as const)
      assert.equal((await t.call(method, path, { token })).json.code, 'TRUST_POLICY_NOT_FOUND');
    assert.equal((await t.call('GET', `${url}/x`, { token })).status, 400);
  });
  it("records one audit event for each change, with the policy's fields", async () => {
    const { policyId } = await made201();
    await patch(policyId, { status: 'disabled' });
    await patch(policyId, {});
    await t.call('DELETE', `${url}/${policyId}`, { token });
    const events = await t.sql<{ action: string; agent_id: string; metadata: Record<string, unknown> }>(
      "select action, agent_id, metadata from audit_events where metadata ->> 'policyId' = $1 order by event_id",
      [policyId],
    );
    assert.deepEqual(
      events.map(({ action }) => action),
      ['trust_policy.created', 'trust_policy.updated', 'trust_policy.deleted'],
    );
    assert.ok(events.every(({ agent_id }) => agent_id === agent.agentId));
    assert.deepEqual(events[1]?.metadata.changed, ['status']);
  });
});
