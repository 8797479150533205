/** The field `authorizationDetailTypes` of resources, over HTTP. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createResourceClient, newResource } from '../../../test/support/scenarios/resources/resources.ts';

const t = await startApp();
const { call, tenant, share, events } = createResourceClient(t);
const owner = await tenant();

const payment = {
  type: 'payment',
  description: 'Pay an invoice',
  schema: { properties: { amount: { type: 'number', maximum: 100 } }, required: ['amount'] },
};
const refund = { type: 'refund.v2_a-b', schema: {} };

const create = (authorizationDetailTypes: unknown) =>
  call('POST', '/resources', owner.token, newResource({ authorizationDetailTypes }));

const fieldsIn = (json: { details: { fields: { field: string }[] } }) =>
  json.details.fields.map(({ field }) => field);

describe('authorizationDetailTypes of a resource', () => {
  it('201, then read, listed, changed, and named in the events', async () => {
    const own = await tenant();
    const made = await call(
      'POST',
      '/resources',
      own.token,
      newResource({ authorizationDetailTypes: [payment, refund] }),
    );
    assert.equal(made.status, 201, made.text);
    const { resourceId } = made.json;
    const all = [payment, { ...refund, description: null }];
    assert.deepEqual(made.json.authorizationDetailTypes, all);
    const read = async () => (await call('GET', `/resources/${resourceId}`, own.token)).json;
    assert.deepEqual((await read()).authorizationDetailTypes, all);
    const listed = await call('GET', '/resources', own.token);
    assert.deepEqual(listed.json.data[0].authorizationDetailTypes, all);
    const change = (body: object) => call('PATCH', `/resources/${resourceId}`, own.token, body);
    assert.equal((await change({ name: 'Other' })).status, 200);
    assert.deepEqual((await read()).authorizationDetailTypes, all);
    const same = await change({ authorizationDetailTypes: [payment, refund] });
    assert.equal(same.status, 200);
    const changed = await change({ authorizationDetailTypes: [refund] });
    assert.deepEqual(changed.json.authorizationDetailTypes, all.slice(1));
    const recorded = (await events(own.organizationId)).map(({ action, metadata }) => [
      action,
      metadata.authorizationDetailTypes,
      metadata.changed,
    ]);
    assert.deepEqual(recorded, [
      ['resource.created', ['payment', 'refund.v2_a-b'], undefined],
      ['resource.updated', ['payment', 'refund.v2_a-b'], ['name']],
      ['resource.updated', ['refund.v2_a-b'], ['authorizationDetailTypes']],
    ]);
  });

  it('an organization that the API is shared with reads them, too: its people are asked', async () => {
    const other = await tenant();
    const made = await create([payment]);
    await share(owner, made.json.resourceId, other.organizationId, ['orders:read']);
    const { json } = await call('GET', `/resources/${made.json.resourceId}`, other.token);
    assert.deepEqual(json.authorizationDetailTypes, [payment]);
  });

  const bad: [string, unknown, string][] = [
    ['no list', {}, 'authorizationDetailTypes'],
    [
      '21 types',
      Array.from({ length: 21 }, (_, n) => ({ ...refund, type: `t${n}` })),
      'authorizationDetailTypes',
    ],
    ['a name with capitals', [{ ...refund, type: 'Pay' }], 'authorizationDetailTypes[0].type'],
    ['an empty name', [{ ...refund, type: '' }], 'authorizationDetailTypes[0].type'],
    ['a long name', [{ ...refund, type: 'a'.repeat(65) }], 'authorizationDetailTypes[0].type'],
    ['a name twice', [refund, payment, refund], 'authorizationDetailTypes[2].type'],
    ['no schema', [{ type: 'a' }], 'authorizationDetailTypes[0].schema'],
    ['a schema that is a list', [{ type: 'a', schema: [] }], 'authorizationDetailTypes[0].schema'],
    ['a schema that is true', [{ type: 'a', schema: true }], 'authorizationDetailTypes[0].schema'],
    ['another field', [{ ...refund, more: 1 }], 'authorizationDetailTypes[0].more'],
    [
      'a long schema',
      [{ type: 'a', schema: { const: 'x'.repeat(8_192) } }],
      'authorizationDetailTypes[0].schema',
    ],
    [
      'a slow pattern',
      [payment, { type: 'a', schema: { properties: { b: { pattern: '(a+)+$' } } } }],
      'authorizationDetailTypes[1].schema',
    ],
    [
      'a circle',
      [{ type: 'a', schema: { properties: { b: { $ref: '#' } } } }],
      'authorizationDetailTypes[0].schema',
    ],
  ];
  for (const [what, types, field] of bad)
    it(`400 VALIDATION_ERROR for ${what}, at creation and change`, async () => {
      const made = await create([payment]);
      const path = `/resources/${made.json.resourceId}`;
      for (const answer of [
        await create(types),
        await call('PATCH', path, owner.token, { authorizationDetailTypes: types }),
      ]) {
        assert.deepEqual([answer.status, answer.json.code], [400, 'VALIDATION_ERROR'], answer.text);
        assert.deepEqual(fieldsIn(answer.json), [field]);
      }
      assert.deepEqual((await call('GET', path, owner.token)).json.authorizationDetailTypes, [payment]);
    });

  it('the message names the place in the schema', async () => {
    const { json } = await create([{ type: 'a', schema: { properties: { b: { minLength: '1' } } } }]);
    assert.match(json.message, /schema \/properties\/b\/minLength must be an integer of at least 0$/);
  });

  it('names of fields that objects have anyway are fields like others', async () => {
    const schema = { properties: { constructor: { type: 'string' }, toString: {} }, required: ['valueOf'] };
    const made = await create([{ type: 'a', schema }]);
    assert.equal(made.status, 201, made.text);
    assert.deepEqual(made.json.authorizationDetailTypes[0].schema, schema);
  });

  it('201 with the most and the largest types', async () => {
    const schema = { description: 'x'.repeat(8_192 - '{"description":""}'.length) };
    const types = Array.from({ length: 20 }, (_, n) => ({ type: `t${n}`, description: null, schema }));
    const made = await create(types);
    assert.equal(made.status, 201, made.text.slice(0, 200));
    assert.deepEqual(made.json.authorizationDetailTypes, types);
  });
});
