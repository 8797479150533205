import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routeAt, startHttp } from '../../../../test/support/bare-http.ts';
import Type from '../../../contract/json-schema.ts';
import { Uuid } from '../../../contract/shapes.ts';

const Body = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 4 })),
    slug: Type.Optional(Type.String({ minLength: 3 })),
    letter: Type.Optional(Type.String({ maxLength: 1 })),
    tags: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 2 })),
    pair: Type.Optional(Type.Array(Type.String(), { minItems: 2, uniqueItems: true })),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
    kind: Type.Optional(Type.Literal('fixed')),
    level: Type.Optional(Type.Unsafe<string>({ type: 'string', enum: ['low', 'high'] })),
    labels: Type.Optional(
      Type.Object({}, { additionalProperties: true, minProperties: 1, maxProperties: 2 }),
    ),
    agentId: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'the agent that acted' })),
    since: Type.Optional(Type.String({ format: 'date-time', description: 'created at this time or later' })),
    code: Type.Optional(Type.String({ pattern: '^[a-z]+$', description: 'lower-case letters; not unique' })),
    note: Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Null()])),
    list: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
  },
  { additionalProperties: false },
);
const ok = Type.Object({});
const { server } = await startHttp([
  { ...routeAt('POST', '/validated', ok, () => ({})), schema: { body: Body, response: { 200: ok } } },
]);

describe('400 VALIDATION_ERROR names the constraint in positive words', () => {
  for (const [payload, field, message] of [
    [{ name: '' }, 'name', 'must not be empty'],
    [{ name: 'x'.repeat(5) }, 'name', 'must have at most 4 characters'],
    [{ slug: 'ab' }, 'slug', 'must have at least 3 characters'],
    [{ letter: 'ab' }, 'letter', 'must have at most 1 character'],
    [{ tags: [] }, 'tags', 'must not be empty'],
    [{ tags: ['a', 'b', 'c'] }, 'tags', 'must have at most 2 items'],
    [{ pair: ['a'] }, 'pair', 'must have at least 2 items'],
    [{ pair: ['a', 'a'] }, 'pair', 'must not list anything twice'],
    [{ count: 0 }, 'count', 'must be at least 1'],
    [{ count: 11 }, 'count', 'must be at most 10'],
    [{ kind: 'other' }, 'kind', 'must be "fixed"'],
    [{ level: 'middle' }, 'level', 'must be one of low, high'],
    [{ labels: {} }, 'labels', 'must not be empty'],
    [{ labels: { a: 1, b: 2, c: 3 } }, 'labels', 'must have at most 2 fields'],
    [{ note: '' }, 'note', 'must not be empty'],
    [{ list: ['a', 1] }, 'list[1]', 'must be of type string'],
    [{ agentId: 'x' }, 'agentId', 'must be a UUID'],
    [{ since: 'x' }, 'since', 'must be an ISO 8601 time such as 2030-01-31T12:00:00Z'],
    [{ code: '1' }, 'code', 'must be lower-case letters'],
    [{ unknown: 1 }, 'unknown', 'is not a field of this operation'],
  ] as const)
    it(`${JSON.stringify(payload)}: ${field} ${message}`, async () => {
      const response = await server.inject({ method: 'POST', url: '/validated', payload });
      assert.equal(response.statusCode, 400);
      const { code, message: sentence, details } = response.json();
      assert.equal(code, 'VALIDATION_ERROR');
      assert.equal(sentence, `${field} ${message}`);
      assert.deepEqual(details.fields, [{ in: 'body', field, message }]);
    });
});
