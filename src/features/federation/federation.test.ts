import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';

const t = await startApp();
const token = await t.token();
const url = '/api/v1/federation';
const address = () => `https://${randomUUID()}.example`;

const trust = (changes: object = {}) => {
  const issuer = address();
  const payload = { name: 'Partner', issuer, jwksUri: `${issuer}/jwks?format=json`, ...changes };
  return t.call('POST', `${url}/trust`, { token, payload });
};
const patch = (id: string, payload: object) => t.call('PATCH', `${url}/partners/${id}`, { token, payload });
const list = async () => (await t.call('GET', `${url}/partners`, { token })).json;
const eventsOf = async (id: string) =>
  t.sql<{ action: string; organization_id: string; metadata: Record<string, unknown> }>(
    "select action, organization_id, metadata from audit_events where metadata->>'partnerId' = $1 order by event_id",
    [id],
  );

describe('POST /federation/trust', () => {
  it('201 with the fields of the spec and updatedAt', async () => {
    const issuer = address();
    const { status, json } = await trust({ name: 'Acme', issuer, jwksUri: `${issuer}/keys` });
    assert.equal(status, 201);
    const { id, createdAt, updatedAt, ...rest } = json;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(updatedAt, createdAt);
    assert.deepEqual(rest, { name: 'Acme', issuer, jwksUri: `${issuer}/keys`, idJag: false });
    assert.deepEqual((await t.call('GET', `${url}/partners/${id}`, { token })).json, json);
  });
  it('409 PARTNER_ALREADY_EXISTS when the issuer is a partner, and for all but one of 50 concurrent requests', async () => {
    const issuer = address();
    const answers = await Promise.all(Array.from({ length: 50 }, () => trust({ issuer })));
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    const refused = answers.filter(({ status }) => status === 409);
    assert.equal(refused.length, 49);
    assert.equal(refused[0]?.json.code, 'PARTNER_ALREADY_EXISTS');
  });
  for (const [what, changes, field] of [
    ['no name', { name: undefined }, 'name'],
    ['a blank name', { name: ' ' }, 'name'],
    ['a name of 256 characters', { name: 'x'.repeat(256) }, 'name'],
    ['no issuer', { issuer: undefined }, 'issuer'],
    ['an issuer that is a number', { issuer: 7 }, 'issuer'],
    ['an issuer by http', { issuer: 'http://partner.example' }, 'issuer'],
    ['an issuer that is no URL', { issuer: 'partner.example' }, 'issuer'],
    ['an issuer with credentials', { issuer: 'https://user:pw@partner.example' }, 'issuer'],
    ['an issuer with an empty user', { issuer: 'https://@partner.example' }, 'issuer'],
    ['an issuer with a fragment', { issuer: 'https://partner.example/#x' }, 'issuer'],
    ['an issuer with a query', { issuer: 'https://partner.example/?x=1' }, 'issuer'],
    ['an issuer with a space', { issuer: 'https://partner.example/ x' }, 'issuer'],
    ['an issuer with a backslash', { issuer: 'https:\\\\partner.example' }, 'issuer'],
    ['an issuer of 1,025 characters', { issuer: `https://partner.example/${'x'.repeat(1001)}` }, 'issuer'],
    ['a file as key set', { jwksUri: 'file:///etc/passwd' }, 'jwksUri'],
    ['a key set by http', { jwksUri: 'http://partner.example/jwks' }, 'jwksUri'],
    ['a key set with a fragment', { jwksUri: 'https://partner.example/jwks#x' }, 'jwksUri'],
    ['no key set', { jwksUri: null }, 'jwksUri'],
    ['an unknown field', { trusted: true }, 'trusted'],
  ] as const) {
    it(`400 VALIDATION_ERROR naming ${field}, for ${what}`, async () => {
      const { status, json } = await trust(changes);
      assert.equal(status, 400, JSON.stringify(json));
      assert.equal(json.code, 'VALIDATION_ERROR');
      assert.equal(json.details.fields[0].field, field);
    });
  }
  it('400 VALIDATION_ERROR for this instance itself, in any spelling', async () => {
    const inside = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
    const operator = await inside.token();
    for (const issuer of ['http://countersign.test', 'HTTP://Countersign.test/']) {
      const payload = { name: 'Us', issuer, jwksUri: 'http://countersign.test/.well-known/jwks.json' };
      const { status, json } = await inside.call('POST', `${url}/trust`, { token: operator, payload });
      assert.deepEqual([status, json.details?.fields[0].field], [400, 'issuer']);
    }
  });
});

describe('GET /federation/partners', () => {
  it('200 a bare array, oldest first', async () => {
    const first = (await trust()).json;
    const second = (await trust()).json;
    const all = await list();
    assert.ok(Array.isArray(all));
    assert.deepEqual(all.slice(-2), [first, second]);
  });
  it('404 PARTNER_NOT_FOUND for an unknown id, 400 VALIDATION_ERROR for a malformed one', async () => {
    const unknown = await t.call('GET', `${url}/partners/${randomUUID()}`, { token });
    assert.deepEqual([unknown.status, unknown.json.code], [404, 'PARTNER_NOT_FOUND']);
    const malformed = await t.call('GET', `${url}/partners/x`, { token });
    assert.deepEqual([malformed.status, malformed.json.code], [400, 'VALIDATION_ERROR']);
  });
  it('403 FORBIDDEN without admin:orgs, for every route but verify', async () => {
    const weak = await t.token(undefined, await t.agent());
    const { id } = (await trust()).json;
    for (const [method, path, payload] of [
      ['POST', '/trust', { name: 'x', issuer: address(), jwksUri: address() }],
      ['GET', '/partners', undefined],
      ['GET', `/partners/${id}`, undefined],
      ['PATCH', `/partners/${id}`, { name: 'y' }],
      ['DELETE', `/partners/${id}`, undefined],
    ] as const) {
      const answer = await t.call(method, url + path, { token: weak, ...(payload && { payload }) });
      assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN'], `${method} ${path}`);
    }
    const verified = await t.call('POST', `${url}/verify`, { token: weak, payload: { token: 'x' } });
    assert.deepEqual([verified.status, verified.json], [200, { valid: false, reason: 'malformed' }]);
  });
});

describe('PATCH and DELETE /federation/partners/{id}', () => {
  it('200 changes the given fields, and nothing for an empty body', async () => {
    const before = (await trust()).json;
    assert.deepEqual((await patch(before.id, {})).json, before);
    assert.deepEqual((await patch(before.id, { name: before.name })).json, before);
    t.clock.advance(5);
    const issuer = address();
    const { status, json } = await patch(before.id, { name: 'Renamed', issuer, jwksUri: `${issuer}/k` });
    assert.equal(status, 200);
    assert.deepEqual(
      [json.id, json.name, json.issuer, json.jwksUri, json.createdAt],
      [before.id, 'Renamed', issuer, `${issuer}/k`, before.createdAt],
    );
    assert.notEqual(json.updatedAt, before.updatedAt);
  });
  it('409 PARTNER_ALREADY_EXISTS for the issuer of another partner, also with two concurrent requests', async () => {
    const [a, b, c] = [(await trust()).json, (await trust()).json, (await trust()).json];
    assert.equal((await patch(a.id, { issuer: b.issuer })).json.code, 'PARTNER_ALREADY_EXISTS');
    const issuer = address();
    const statuses = (await Promise.all([a, b, c].map(({ id }) => patch(id, { issuer })))).map(
      ({ status }) => status,
    );
    assert.deepEqual(statuses.sort(), [200, 409, 409]);
  });
  it('400 for fields that are immutable, unknown or invalid', async () => {
    const { id } = (await trust()).json;
    assert.equal((await patch(id, { id: randomUUID() })).json.code, 'IMMUTABLE_FIELD');
    assert.equal((await patch(id, { createdAt: 'now' })).json.code, 'IMMUTABLE_FIELD');
    for (const change of [{ active: false }, { issuer: 'http://x.example' }, { jwksUri: null }, { name: '' }])
      assert.equal((await patch(id, change)).json.code, 'VALIDATION_ERROR', JSON.stringify(change));
    assert.equal((await patch(randomUUID(), { name: 'x' })).json.code, 'PARTNER_NOT_FOUND');
  });
  it('204 removes it; 404 the second time', async () => {
    const { id } = (await trust()).json;
    assert.equal((await t.call('DELETE', `${url}/partners/${id}`, { token })).status, 204);
    assert.equal((await t.call('DELETE', `${url}/partners/${id}`, { token })).status, 404);
    assert.equal((await t.call('GET', `${url}/partners/${id}`, { token })).status, 404);
  });
  it("records one audit event for each change, in the log of the caller's organization, and counts them", async () => {
    const { id } = (await trust()).json;
    await patch(id, { name: 'Other' });
    await patch(id, {});
    await t.call('DELETE', `${url}/partners/${id}`, { token });
    const events = await eventsOf(id);
    assert.deepEqual(
      events.map(({ action }) => action),
      ['partner.added', 'partner.updated', 'partner.removed'],
    );
    assert.ok(events.every((event) => event.organization_id === t.operator.organizationId));
    assert.deepEqual(events[1]?.metadata.changed, ['name']);
    const { text } = await t.call('GET', '/metrics');
    for (const type of ['partner_added', 'partner_changed', 'partner_removed'])
      assert.match(text, new RegExp(`service_federation_events_total\\{event_type="${type}"\\} \\d`));
  });
});
