import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { concurrently, countByStatus } from '../../../test/support/scenarios/plans.ts';
import {
  createResourceClient,
  newResource,
  outcome,
} from '../../../test/support/scenarios/resources/resources.ts';

const t = await startApp();
const { call, agentIn, tenant, resource, share, grant, events } = createResourceClient(t);
const owner = await tenant();
const otherTenant = await tenant();

describe('POST /resources', () => {
  it('201 with the defaults, and the audit event resource.created', async () => {
    const own = await tenant();
    const wanted = newResource();
    const { status, json } = await call('POST', '/resources', own.token, wanted);
    assert.equal(status, 201);
    const { resourceId, createdAt, ...rest } = json;
    assert.deepEqual(rest, {
      organizationId: own.organizationId,
      identifier: wanted.identifier,
      name: 'Orders',
      description: null,
      scopes: [
        { name: 'orders:read', description: 'Read orders' },
        { name: 'orders:write', description: null },
        { name: 'refund', description: null },
      ],
      tokenLifetimeSeconds: 3600,
      claims: [],
      peopleScopes: [],
      approvers: [],
      authorizationDetailTypes: [],
      verification: {
        status: 'verified',
        host: new URL(String(wanted.identifier)).host,
        method: null,
        token: null,
      },
      updatedAt: createdAt,
    });
    const [event, ...others] = await events(own.organizationId);
    assert.deepEqual(others, []);
    assert.equal(event?.action, 'resource.created');
    assert.equal(event?.metadata.identifier, wanted.identifier);
    assert.equal(event?.metadata.resourceId, resourceId);
    assert.deepEqual((await call('GET', `/resources/${resourceId}`, own.token)).json, json);
  });

  it('201 with every field', async () => {
    const answer = await call(
      'POST',
      '/resources',
      owner.token,
      newResource({
        description: 'd'.repeat(1024),
        tokenLifetimeSeconds: 60,
        claims: ['version', 'agentType', 'capabilities', 'owner', 'deploymentEnv'],
        scopes: Array.from({ length: 100 }, (_, index) => ({ name: `${'s'.repeat(61)}${100 + index}` })),
      }),
    );
    assert.equal(answer.status, 201, answer.text);
    assert.deepEqual(answer.json.claims, ['agentType', 'capabilities', 'owner', 'deploymentEnv', 'version']);
    assert.equal(answer.json.scopes.length, 100);
  });

  const scopes = (...names: string[]) => ({ scopes: names.map((name) => ({ name })) });
  for (const [what, changes, field] of [
    ['no identifier', { identifier: undefined }, 'identifier'],
    ['our own issuer', { identifier: 'http://countersign.test/' }, 'identifier'],
    ['an identifier of 513 characters', { identifier: `https://a.example/${'x'.repeat(495)}` }, 'identifier'],
    ['plain http', { identifier: 'http://api.example' }, 'identifier'],
    ['an upper-case host', { identifier: 'https://API.example' }, 'identifier'],
    ['an identifier that is no text', { identifier: 7 }, 'identifier'],
    ['a blank name', { name: ' ' }, 'name'],
    ['a name with a line break', { name: 'Orders\nof others' }, 'name'],
    ['a name with bidirectional formatting', { name: 'Orders\u202e' }, 'name'],
    ['a name of 129 characters', { name: 'x'.repeat(129) }, 'name'],
    ['a description of 1025 characters', { description: 'x'.repeat(1025) }, 'description'],
    ['no scopes', { scopes: [] }, 'scopes'],
    ['101 scopes', scopes(...Array.from({ length: 101 }, (_, index) => `s${index}`)), 'scopes'],
    ['a scope with a blank', scopes('a b'), 'scopes[0].name'],
    ['a scope with a quote', scopes('a"b'), 'scopes[0].name'],
    ['a scope with a backslash', scopes('a\\b'), 'scopes[0].name'],
    ['a scope of 65 characters', scopes('x'.repeat(65)), 'scopes[0].name'],
    ['a scope in another script', scopes('données'), 'scopes[0].name'],
    ['a scope twice', scopes('a', 'b', 'a'), 'scopes[2].name'],
    ["a scope of this server's API", scopes('a', 'agents:read'), 'scopes[1].name'],
    ["the operator's scope", scopes('admin:orgs'), 'scopes[0].name'],
    ['an unknown field of a scope', { scopes: [{ name: 'a', secret: 1 }] }, 'scopes[0].secret'],
    ['a lifetime of 59 seconds', { tokenLifetimeSeconds: 59 }, 'tokenLifetimeSeconds'],
    ['a lifetime of 3601 seconds', { tokenLifetimeSeconds: 3601 }, 'tokenLifetimeSeconds'],
    ['an unknown claim', { claims: ['email'] }, 'claims[0]'],
    ['a claim twice', { claims: ['owner', 'owner'] }, 'claims'],
    ['an unknown field', { organizationId: randomUUID() }, 'organizationId'],
  ] as const)
    it(`400 VALIDATION_ERROR for ${what}`, async () => {
      const before = await t.sql('select count(*) from resources');
      const answer = await call('POST', '/resources', owner.token, newResource(changes));
      assert.equal(outcome(answer), '400 VALIDATION_ERROR', answer.text);
      assert.deepEqual(
        answer.json.details.fields.map((problem: { field: string }) => problem.field),
        [field],
      );
      assert.deepEqual(await t.sql('select count(*) from resources'), before);
    });

  it('403 INSUFFICIENT_SCOPE without resources:write, also for an admin', async () => {
    const admin = await agentIn(owner.organizationId, ['resources:read', 'agents:write'], 'admin');
    assert.equal(
      outcome(await call('POST', '/resources', admin.token, newResource())),
      '403 INSUFFICIENT_SCOPE',
    );
  });

  it('409 RESOURCE_ALREADY_EXISTS for the same API, also with a slash at the end and in another organization', async () => {
    const { identifier } = await resource(owner);
    for (const by of [owner, otherTenant])
      for (const same of [identifier, `${identifier}/`])
        assert.equal(
          outcome(await call('POST', '/resources', by.token, newResource({ identifier: same }))),
          '409 RESOURCE_ALREADY_EXISTS',
        );
  });

  it('409 RESOURCE_ALREADY_EXISTS for all but one of concurrent requests in two spellings', async () => {
    const identifier = `https://${randomUUID()}.example`;
    const answers = await concurrently(10, (index) =>
      call(
        'POST',
        '/resources',
        (index % 2 ? owner : otherTenant).token,
        newResource({ identifier: index % 3 ? identifier : `${identifier}/` }),
      ),
    );
    assert.deepEqual(countByStatus(answers), { 201: 1, 409: 9 });
  });

  it('403 RESOURCE_LIMIT_EXCEEDED from the 101st on, exactly, under concurrent requests', async () => {
    const own = await tenant();
    await t.sql(
      `insert into resources (resource_id, organization_id, identifier, name, scopes, token_lifetime_seconds, claims, created_at, updated_at)
       select id, $1, 'https://' || id || '.example', 'x', '[{"name":"a","description":null}]', 60, '{}', now(), now()
       from (select gen_random_uuid() as id from generate_series(1, 90)) ids`,
      [own.organizationId],
    );
    const answers = await concurrently(50, () => call('POST', '/resources', own.token, newResource()));
    assert.deepEqual(countByStatus(answers), { 201: 10, 403: 40 });
    const refused = answers.find(({ status }) => status === 403);
    assert.equal(refused?.json.code, 'RESOURCE_LIMIT_EXCEEDED');
    assert.match(refused?.json.message, /at most 100/);
    // A deleted resource does not count.
    const { json } = await call('GET', '/resources?limit=1', own.token);
    assert.equal(json.total, 100);
    await call('DELETE', `/resources/${json.data[0].resourceId}`, own.token);
    assert.equal((await call('POST', '/resources', own.token, newResource())).status, 201);
  });
});

describe('GET /resources', () => {
  it('200 with own resources first, then those shared, with the shared scopes only; a part of name or identifier filters', async () => {
    const own = await tenant();
    const first = await resource(own, { name: 'Billing API' });
    const second = await resource(own, { identifier: `https://stock-${randomUUID()}.example` });
    const shared = await resource(owner, { name: 'Shared API' });
    await share(owner, shared.resourceId, own.organizationId, ['refund', 'orders:read']);
    const list = async (query = '') => (await call('GET', `/resources${query}`, own.token)).json;
    const { data, total, page, limit } = await list();
    assert.deepEqual([total, page, limit], [3, 1, 20]);
    assert.deepEqual(data.slice(0, 2), [second, first]);
    assert.deepEqual(data[2].scopes, [
      { name: 'orders:read', description: 'Read orders' },
      { name: 'refund', description: null },
    ]);
    assert.equal(data[2].organizationId, owner.organizationId);
    assert.deepEqual((await list('?page=2&limit=2')).data, [data[2]]);
    assert.deepEqual((await list('?q=bILLing')).data, [first]);
    assert.deepEqual((await list('?q=stock-')).data, [second]);
    assert.equal((await list('?q=%25')).total, 0);
    assert.equal((await list('?q=')).total, 3);
    assert.equal(
      outcome(await call('GET', `/resources?q=${'x'.repeat(513)}`, own.token)),
      '400 VALIDATION_ERROR',
    );
    assert.equal(outcome(await call('GET', '/resources?limit=101', own.token)), '400 VALIDATION_ERROR');
  });

  it('200 for an operator with the resources of all organizations', async () => {
    const { resourceId, name } = await resource(owner, { name: `n-${randomUUID()}` });
    const operator = await t.token();
    const { json } = await call('GET', `/resources?q=${name}`, operator);
    assert.deepEqual(
      json.data.map((each: { resourceId: string }) => each.resourceId),
      [resourceId],
    );
    assert.equal((await call('PATCH', `/resources/${resourceId}`, operator, { name: 'Theirs' })).status, 200);
  });
});

describe('another organization', () => {
  it('404 RESOURCE_NOT_FOUND for every operation on a resource that is not shared with it', async () => {
    const { resourceId } = await resource(owner);
    const { token, agentId, organizationId } = otherTenant;
    const at = `/resources/${resourceId}`;
    const scopes = { scopes: ['orders:read'] };
    for (const answer of [
      await call('GET', at, token),
      await call('PATCH', at, token, { name: 'Mine' }),
      await call('DELETE', at, token),
      await call('GET', `${at}/shares`, token),
      await call('GET', `${at}/grants`, token),
      await call('PUT', `${at}/shares/${organizationId}`, token, scopes),
      await call('DELETE', `${at}/shares/${organizationId}`, token),
      await call('PUT', `/agents/${agentId}/grants/${resourceId}`, token, scopes),
      await call('DELETE', `/agents/${agentId}/grants/${resourceId}`, token),
    ])
      assert.equal(outcome(answer), '404 RESOURCE_NOT_FOUND');
  });

  it('403 FORBIDDEN to change, share or see the shares of a resource that is shared with it', async () => {
    const { resourceId } = await resource(owner);
    await share(owner, resourceId, otherTenant.organizationId, ['refund']);
    const at = `/resources/${resourceId}`;
    const third = await tenant();
    for (const answer of [
      await call('PATCH', at, otherTenant.token, { name: 'Mine' }),
      await call('DELETE', at, otherTenant.token),
      await call('GET', `${at}/shares`, otherTenant.token),
      await call('PUT', `${at}/shares/${third.organizationId}`, otherTenant.token, { scopes: ['refund'] }),
      await call('DELETE', `${at}/shares/${otherTenant.organizationId}`, otherTenant.token),
    ])
      assert.equal(outcome(answer), '403 FORBIDDEN');
    assert.equal((await call('GET', at, owner.token)).json.name, 'Orders');
  });

  it('400 VALIDATION_ERROR for a malformed id', async () => {
    assert.equal(outcome(await call('GET', '/resources/zzz', owner.token)), '400 VALIDATION_ERROR');
    assert.equal(
      outcome(await call('GET', `/resources/${randomUUID()}`, owner.token)),
      '404 RESOURCE_NOT_FOUND',
    );
  });
});

describe('PATCH /resources/{resourceId}', () => {
  it('200 with the changes, and the event names the changed fields; without a change nothing is recorded', async () => {
    const own = await tenant();
    const before = await resource(own);
    const at = `/resources/${before.resourceId}`;
    t.clock.advance(1_000);
    const change = { name: 'New', description: 'About', tokenLifetimeSeconds: 300, claims: ['owner'] };
    const { status, json } = await call('PATCH', at, own.token, change);
    assert.equal(status, 200);
    assert.deepEqual(json, { ...before, ...change, updatedAt: json.updatedAt });
    assert.ok(json.updatedAt > before.updatedAt);
    for (const same of [{}, undefined, change, { scopes: newResource().scopes }])
      assert.deepEqual((await call('PATCH', at, own.token, same)).json, json);
    const [, updated, ...others] = await events(own.organizationId);
    assert.deepEqual(updated?.metadata.changed, Object.keys(change));
    assert.equal(others.length, 0);
    assert.equal((await call('PATCH', at, own.token, { description: null })).json.description, null);
  });

  for (const [what, payload, expected] of [
    ['identifier', { identifier: 'https://other.example' }, '400 IMMUTABLE_FIELD'],
    ['organizationId', { organizationId: randomUUID() }, '400 IMMUTABLE_FIELD'],
    ['an unknown field', { secret: 1 }, '400 VALIDATION_ERROR'],
    ['no scopes', { scopes: [] }, '400 VALIDATION_ERROR'],
    ['a null name', { name: null }, '400 VALIDATION_ERROR'],
    ["a scope of this server's API", { scopes: [{ name: 'audit:read' }] }, '400 VALIDATION_ERROR'],
  ] as const)
    it(`${expected} for ${what}`, async () => {
      const before = await resource(owner);
      const answer = await call('PATCH', `/resources/${before.resourceId}`, owner.token, {
        name: 'x',
        ...payload,
      });
      assert.equal(outcome(answer), expected);
      assert.deepEqual((await call('GET', `/resources/${before.resourceId}`, owner.token)).json, before);
    });
});

describe('DELETE /resources/{resourceId}', () => {
  it('204 with its shares and grants; the identifier stays reserved for its former owner', async () => {
    const own = await tenant();
    const { resourceId, identifier } = await resource(own);
    await share(own, resourceId, otherTenant.organizationId, ['refund']);
    await grant(own, own.agentId, resourceId, ['orders:read']);
    assert.equal((await call('DELETE', `/resources/${resourceId}`, own.token)).status, 204);
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/shares'],
    ] as const)
      assert.equal(
        outcome(await call(method, `/resources/${resourceId}${path}`, own.token)),
        '404 RESOURCE_NOT_FOUND',
      );
    assert.equal((await call('GET', `/agents/${own.agentId}/grants`, own.token)).json.total, 0);
    for (const same of [identifier, `${identifier}/`])
      assert.equal(
        outcome(await call('POST', '/resources', otherTenant.token, newResource({ identifier: same }))),
        '409 RESOURCE_ALREADY_EXISTS',
      );
    const again = await call('POST', '/resources', own.token, newResource({ identifier }));
    assert.equal(again.status, 201);
    assert.notEqual(again.json.resourceId, resourceId);
    assert.equal((await call('GET', `/resources/${again.json.resourceId}/shares`, own.token)).json.total, 0);
  });
});
