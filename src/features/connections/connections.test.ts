import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { limits } from '../../contract/limits.ts';

const t = await startApp({ LOG_LEVEL: 'trace', DATA_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') });
const operator = await t.token();

const makeOrganization = async (): Promise<string> =>
  (
    await t.call('POST', '/api/v1/organizations', {
      token: operator,
      payload: { name: 'Talent', slug: `team-${randomUUID().slice(0, 18)}`, planTier: 'pro' },
    })
  ).json.organizationId;

async function adminOf(organization_id: string): Promise<string> {
  const { agentId } = (
    await t.call('POST', '/api/v1/agents', { token: operator, payload: newAgent({ organization_id }) })
  ).json;
  await t.call('POST', `/api/v1/organizations/${organization_id}/members`, {
    token: operator,
    payload: { agentId, role: 'admin' },
  });
  const credential = await t.call('POST', `/api/v1/agents/${agentId}/credentials`, { token: operator });
  return t.token(undefined, credential.json);
}

const wanted = (changes: Record<string, unknown> = {}) => ({
  name: 'Example Login',
  issuer: 'https://login.example.com',
  clientId: randomUUID(),
  clientSecret: 'a secret of the provider',
  ...changes,
});

const urlOf = (id: string, connectionId = '') =>
  `/api/v1/organizations/${id}/connections${connectionId && `/${connectionId}`}`;
const create = (id: string, payload: object, token = operator) =>
  t.call('POST', urlOf(id), { token, payload });
const change = (id: string, connectionId: string, payload: object, token = operator) =>
  t.call('PATCH', urlOf(id, connectionId), { token, payload });
const read = (id: string, connectionId = '', token = operator) =>
  t.call('GET', urlOf(id, connectionId), { token });
const remove = (id: string, connectionId: string, token = operator) =>
  t.call('DELETE', urlOf(id, connectionId), { token });

const eventsOf = async (id: string) =>
  (
    await t.sql<{ action: string; metadata: Record<string, unknown> }>(
      "select action, metadata from audit_events where organization_id = $1 and action like 'connection.%' order by occurred_at, event_id",
      [id],
    )
  ).map(({ action, metadata: { requestId: _, actorId: __, ...rest } }) => [action, rest]);

describe('POST /organizations/{orgId}/connections', () => {
  it('201 for an admin, with defaults, without the secret, and without a request to the provider', async () => {
    const id = await makeOrganization();
    const { clientSecret, ...rest } = wanted();
    const { status, json } = await create(id, { ...rest, clientSecret }, await adminOf(id));
    assert.equal(status, 201);
    const { connectionId, createdAt, updatedAt, ...fields } = json;
    const facts = { scopes: ['openid', 'email', 'profile'], conditions: [], status: 'active', idJag: false };
    assert.deepEqual(fields, { ...rest, organizationId: id, ...facts });
    assert.equal(createdAt, updatedAt);
    assert.deepEqual((await read(id, connectionId)).json, json);
    assert.deepEqual((await read(id)).json, { data: [json], total: 1, page: 1, limit: 20 });
    assert.deepEqual(await eventsOf(id), [['connection.created', { connectionId, ...rest, ...facts }]]);
  });

  it('409 CONNECTION_ALREADY_EXISTS for the same issuer and client, by a change too', async () => {
    const id = await makeOrganization();
    const first = wanted();
    assert.equal((await create(id, first)).status, 201);
    assert.equal((await create(id, { ...first, name: 'Other' })).json.code, 'CONNECTION_ALREADY_EXISTS');
    const second = (await create(id, wanted())).json;
    const { clientId } = first;
    assert.deepEqual(
      [409, 'CONNECTION_ALREADY_EXISTS'],
      await change(id, second.connectionId, { clientId }).then(({ status, json }) => [status, json.code]),
    );
    assert.equal((await create(await makeOrganization(), first)).status, 201);
  });

  it('400 VALIDATION_ERROR names the field', async () => {
    const id = await makeOrganization();
    const wrong: [string, Record<string, unknown>][] = [
      ['issuer', { issuer: 'http://login.example.com' }],
      ['issuer', { issuer: 'https://login.example.com?a=b' }],
      ['issuer', { issuer: 'login.example.com' }],
      ['issuer', { issuer: 'https://user:word@login.example.com' }],
      ['name', { name: '' }],
      ['name', { name: 'a'.repeat(65) }],
      ['name', { name: 'Login\u202e' }],
      ['clientId', { clientId: '' }],
      ['clientSecret', { clientSecret: '' }],
      ['clientSecret', { clientSecret: undefined }],
      ['scopes', { scopes: [] }],
      ['scopes', { scopes: ['email'] }],
      ['scopes[1]', { scopes: ['openid', 'a b'] }],
      ['conditions[0].values', { conditions: [{ claim: 'hd', operator: 'equals', values: ['a', 'b'] }] }],
      ['conditions[0].operator', { conditions: [{ claim: 'hd', operator: 'matches', values: ['a'] }] }],
      ['status', { status: 'disabled' }],
      ['connectionId', { connectionId: randomUUID() }],
    ];
    for (const [field, changes] of wrong) {
      const { status, json } = await create(id, wanted(changes));
      assert.deepEqual([status, json.details?.fields?.[0]?.field], [400, field], JSON.stringify(changes));
    }
    assert.equal((await read(id)).json.total, 0);
    assert.equal((await create(id, wanted({ issuer: 'http://localhost:8080' }))).status, 201);
  });

  it('403 CONNECTION_LIMIT_EXCEEDED beyond the limit', async () => {
    const id = await makeOrganization();
    await t.sql(
      `insert into connections select gen_random_uuid(), $1, 'Login', 'https://login.example.com', n::text, 'x',
         '{openid}', '[]', 'active', now(), now() from generate_series(1, $2::int) as n`,
      [id, limits.connectionsPerOrganization - 1],
    );
    assert.equal((await create(id, wanted())).status, 201);
    const { status, json } = await create(id, wanted());
    assert.deepEqual([status, json.code], [403, 'CONNECTION_LIMIT_EXCEEDED']);
  });
});

describe('PATCH /organizations/{orgId}/connections/{connectionId}', () => {
  it('200 with the changed fields in the event; nothing for the same values', async () => {
    const id = await makeOrganization();
    const { connectionId } = (await create(id, wanted())).json;
    t.clock.advance(1_000);
    const conditions = [{ claim: 'hd', operator: 'equals', values: ['example.com'] }];
    const wantedChange = { name: 'Login', conditions, idJag: true, clientSecret: 'new' };
    const changed = await change(id, connectionId, wantedChange);
    assert.equal(changed.status, 200);
    const { name, conditions: changedConditions, idJag } = changed.json;
    assert.deepEqual([name, changedConditions, idJag], ['Login', conditions, true]);
    assert.ok(changed.json.updatedAt > changed.json.createdAt);
    assert.deepEqual((await change(id, connectionId, { name: 'Login' })).json, changed.json);
    assert.deepEqual(
      (await eventsOf(id)).map(([action, data]) => [action, (data as { changed?: string[] }).changed]),
      [
        ['connection.created', undefined],
        ['connection.updated', ['name', 'conditions', 'idJag', 'clientSecret']],
      ],
    );
  });

  it('400 IMMUTABLE_FIELD for the issuer and ids, VALIDATION_ERROR for unknown and wrong fields', async () => {
    const id = await makeOrganization();
    const { connectionId } = (await create(id, wanted())).json;
    const codeOf = async (payload: object) => (await change(id, connectionId, payload)).json.code;
    assert.equal(await codeOf({ issuer: 'https://other.example.com' }), 'IMMUTABLE_FIELD');
    assert.equal(await codeOf({ connectionId: randomUUID() }), 'IMMUTABLE_FIELD');
    assert.equal(await codeOf({ status: 'paused' }), 'VALIDATION_ERROR');
    assert.equal(await codeOf({ enabled: true }), 'VALIDATION_ERROR');
    assert.equal(await codeOf({ scopes: ['email'] }), 'VALIDATION_ERROR');
  });
});

describe('DELETE /organizations/{orgId}/connections/{connectionId}', () => {
  it('204, then 404 CONNECTION_NOT_FOUND', async () => {
    const id = await makeOrganization();
    const { connectionId } = (await create(id, wanted())).json;
    assert.equal((await remove(id, connectionId)).status, 204);
    for (const answer of [
      await remove(id, connectionId),
      await read(id, connectionId),
      await change(id, connectionId, { name: 'x' }),
    ])
      assert.deepEqual([answer.status, answer.json.code], [404, 'CONNECTION_NOT_FOUND']);
    assert.deepEqual(
      (await eventsOf(id)).map(([action]) => action),
      ['connection.created', 'connection.deleted'],
    );
  });
});

describe('connections of another organization', () => {
  it('404 ORG_NOT_FOUND for its admin, 404 CONNECTION_NOT_FOUND for an id of another organization', async () => {
    const [own, other] = [await makeOrganization(), await makeOrganization()];
    const admin = await adminOf(own);
    const { connectionId } = (await create(other, wanted())).json;
    for (const answer of [
      await create(other, wanted(), admin),
      await read(other, '', admin),
      await read(other, connectionId, admin),
      await change(other, connectionId, { name: 'x' }, admin),
      await remove(other, connectionId, admin),
    ])
      assert.deepEqual([answer.status, answer.json.code], [404, 'ORG_NOT_FOUND']);
    assert.equal((await read(own, connectionId, admin)).json.code, 'CONNECTION_NOT_FOUND');
    assert.equal((await change(own, connectionId, { name: 'x' }, admin)).json.code, 'CONNECTION_NOT_FOUND');
    assert.equal((await remove(own, connectionId, admin)).json.code, 'CONNECTION_NOT_FOUND');
    assert.equal((await read(other, connectionId)).json.name, 'Example Login');
  });
});

it('the secret is encrypted at rest, bound to the connection, and in no answer, log line or audit row', async () => {
  const id = await makeOrganization();
  const [first, second] = [`first-${randomUUID()}`, `second-${randomUUID()}`];
  const created = await create(id, wanted({ clientSecret: first }));
  const { connectionId } = created.json;
  const stored = async () => {
    const [row] = await t.sql<{ client_secret: string }>(
      'select client_secret from connections where connection_id = $1',
      [connectionId],
    );
    assert.match(row?.client_secret ?? '', /^sealed:1:/);
    return row?.client_secret ?? '';
  };
  const seen = [created.text, await stored()];
  seen.push((await change(id, connectionId, { clientSecret: second })).text, await stored());
  seen.push((await read(id)).text, (await read(id, connectionId)).text);
  seen.push((await create(id, { ...wanted({ clientSecret: second }), name: 1 })).text);
  seen.push(JSON.stringify(await t.sql('select metadata from audit_events')));
  seen.push(JSON.stringify(await t.sql('select * from webhook_outbox')), t.logs.join('\n'));
  for (const secret of [first, second]) for (const text of seen) assert.ok(!text.includes(secret));
});
