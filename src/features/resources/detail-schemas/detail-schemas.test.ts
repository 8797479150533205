/** JSON Schemas of tenants: which are admitted, what they mean, and that none takes long. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Check } from 'typebox/schema';
import { repetitions } from '../../../../test/support/repetitions.ts';
import { PatternProblem, parsePattern, stepsOf } from './patterns.ts';
import { schemaProblem } from './schema-problem.ts';
import { newBudget, type SchemaObject, validate } from './validate.ts';

const problemOf = (schema: object, value: unknown) =>
  validate(schema as SchemaObject, value, '', newBudget());

/** Small enough that a stack of `count` schemas stays within the bytes. */
const nested = (count: number): object =>
  count === 0 ? { type: 'string' } : { properties: { a: nested(count - 1) } };

/** Each definition doubles the work of the next. */
const doubling = (levels: number) => ({
  $ref: '#/$defs/a0',
  $defs: Object.fromEntries([
    ...Array.from({ length: levels }, (_, index) => {
      const next = { $ref: `#/$defs/a${index + 1}` };
      return [`a${index}`, { allOf: [next, next] }];
    }),
    [`a${levels}`, { type: 'string' }],
  ]),
});

describe('schemas that are admitted', () => {
  const good: Record<string, object> = {
    empty: {},
    'five schemas deep': nested(5),
    'a reference': { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string' } } },
    'a reference to a place with escapes': {
      $ref: '#/$defs/a~1b~0c%20d',
      $defs: { 'a/b~c d': { type: 'object' } },
    },
    'a reference to a schema beside it': { properties: { a: true, b: { $ref: '#/properties/a' } } },
    'two references to the same schema': {
      properties: { a: { $ref: '#/$defs/a' }, b: { $ref: '#/$defs/a' } },
      $defs: { a: true },
    },
    'references within the bound': doubling(8),
    'the standard of the schema': {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'https://api.example/payment',
    },
    'words that are no keywords': { 'x-order': 1, constructor: 5, toString: 'no' },
    'a field named like a keyword': { properties: { pattern: { type: 'string' }, $ref: true } },
    'an unknown format': { format: 'no-such-format' },
    'all keywords': {
      type: ['object', 'null'],
      properties: { a: { const: 1 }, b: { enum: [1, 'x', null] }, c: { pattern: '^[A-Z]{3}$' } },
      patternProperties: { '^x-': { minLength: 1, maxLength: 5 } },
      additionalProperties: { minimum: 0, exclusiveMaximum: 5, multipleOf: 0.5 },
      propertyNames: { maxLength: 10 },
      required: ['a'],
      minProperties: 1,
      maxProperties: 9,
      dependentRequired: { a: ['b'] },
      dependentSchemas: { a: { required: ['b'] } },
      allOf: [true],
      anyOf: [true, false],
      oneOf: [{ items: { type: 'string' }, prefixItems: [true], contains: true, minContains: 0 }],
      not: { uniqueItems: true, type: 'array' },
      if: { required: ['a'] },
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
      then: true,
      else: false,
    },
  };
  for (const [name, schema] of Object.entries(good))
    it(name, () => assert.equal(schemaProblem(schema), undefined));
});

describe('schemas that are refused', () => {
  const bad: [string, object, RegExp][] = [
    ['more than 8 KiB', { description: 'ü'.repeat(4_090) }, /^may have at most 8192 bytes/],
    ['six schemas deep', nested(6), /a\/properties\/a is nested deeper than 5 schemas$/],
    ['a reference to another document', { $ref: 'https://example.com/s' }, /^\/\$ref must be #/],
    ['a reference to a file', { $ref: 'other.json#/a' }, /^\/\$ref must be #/],
    ['an anchor', { $ref: '#name' }, /^\/\$ref must be #/],
    ['a reference that is no text', { $ref: {} }, /^\/\$ref must be #/],
    ['broken percent-encoding', { $ref: '#/%E0%A4%A' }, /^\/\$ref must be #/],
    ['a reference to nothing', { properties: { a: { $ref: '#/$defs/a' } } }, /^\/properties\/a has a \$ref/],
    ['a reference to no schema', { $ref: '#/required', required: ['a'] }, /is no schema of it$/],
    ['a reference to __proto__', { $ref: '#/__proto__' }, /is no schema of it$/],
    ['a reference to constructor', { $ref: '#/$defs/constructor', $defs: {} }, /is no schema of it$/],
    ['itself', { $ref: '#' }, /leads back to it$/],
    ['itself, below', { properties: { a: { $ref: '#' } } }, /leads back to it$/],
    [
      'a circle of definitions that nothing uses',
      { $defs: { a: { $ref: '#/$defs/b' }, b: { items: { $ref: '#/$defs/a' } } } },
      /leads back to it$/,
    ],
    ['an explosion of references', doubling(30), /more than 2000 schemas/],
    ['an infinite number', { maximum: Infinity }, /^has a number that is too large$/],
    ['an infinite number in a value', { const: [{ a: -Infinity }] }, /^has a number that is too large$/],
    ['$dynamicRef', { $dynamicRef: '#' }, /^\/\$dynamicRef is not supported$/],
    ['unevaluatedProperties', { unevaluatedProperties: false }, /is not supported$/],
    ['$id below', { properties: { a: { $id: 'b' } } }, /^\/properties\/a\/\$id is not supported$/],
    ['another standard', { $schema: 'urn:other' }, /^\/\$schema must be/],
    ['type', { type: 'int' }, /^\/type must be one or several of/],
    ['no type', { type: [] }, /^\/type must be/],
    ['properties', { properties: [] }, /^\/properties must be an object of schemas$/],
    ['a schema', { properties: { a: 'string' } }, /^\/properties\/a must be a schema/],
    ['items of an earlier draft', { items: [{}] }, /^\/items must be a schema/],
    ['allOf', { allOf: [] }, /^\/allOf must be a list of schemas$/],
    ['required', { required: true }, /^\/required must be a list of strings$/],
    ['enum', { enum: [] }, /^\/enum must be a list/],
    ['minLength', { minLength: -1 }, /^\/minLength must be an integer of at least 0$/],
    ['maximum', { maximum: '5' }, /^\/maximum must be a number$/],
    ['multipleOf', { multipleOf: 0 }, /^\/multipleOf must be a number above 0$/],
    ['uniqueItems', { uniqueItems: 1 }, /^\/uniqueItems must be true or false$/],
    ['dependentRequired', { dependentRequired: { a: 'b' } }, /^\/dependentRequired must be/],
    ['pattern', { pattern: 1 }, /^\/pattern must be a string$/],
    ['a name pattern', { patternProperties: { '(a+)+': true } }, /^\/patternProperties\/\(a\+\)\+ repeats/],
  ];
  for (const [name, schema, message] of bad)
    it(name, () => assert.match(String(schemaProblem(schema)), message));
});

describe('patterns', () => {
  const good = [
    '^[A-Z]{3}$',
    '^DE\\d{20}$',
    '^\\d+(\\.\\d{1,2})?$',
    '^(EUR|USD|GBP)$',
    '^[a-z0-9._-]+@[a-z0-9.-]+$',
    '^\\p{L}+$',
    '^(?<year>\\d{4})-(?:\\d{2})$',
    '^(?:[0-9]{1,3}\\.){3}[0-9]{1,3}$',
    '[\\]\\[()*+]',
    '\\u{1F600}|\\x41|\\cA|[\\b]',
    '^a{2,}?$',
    '',
  ];
  for (const pattern of good)
    it(`${pattern || 'nothing'} is admitted`, () => assert.equal(schemaProblem({ pattern }), undefined));

  const bad: [string, RegExp][] = [
    ['(a+)+$', /repeats a group without end/],
    ['^(a|a)*$', /repeats a group without end/],
    ['^(a|aa)+$', /repeats a group without end/],
    ['(.*)*', /repeats a group without end/],
    ['(a?){2,}', /repeats a group without end/],
    ['^(\\w+\\s?)*$', /repeats a group without end/],
    ['^([a-zA-Z0-9])(([-.]|[_]+)?([a-zA-Z0-9]+))*$', /repeats a group without end/],
    ['()*', /repeats a group without end/],
    ['(\\b)*', /repeats a group without end/],
    ['a*a*a*a*b', /can run long/],
    ['^a{1,99}a{1,99}a{1,99}a{1,99}$', /can run long/],
    [`${'a?'.repeat(30)}${'a'.repeat(30)}`, /can run long/],
    [`^${'(a|b|ab)'.repeat(20)}$`, /can run long/],
    ['^(a|b){1000}$', /can run long/],
    ['^(a{1,9}){1,9}$', /can run long/],
    ['(a)\\1', /refers to an earlier group/],
    ['(?<n>a)\\k<n>', /refers to an earlier group/],
    ['(?=a)b', /looks ahead or behind/],
    ['(?!a)b', /looks ahead or behind/],
    ['(?<=a)b', /looks ahead or behind/],
    ['(?<!a)b', /looks ahead or behind/],
    ['(', /is not a regular expression/],
    ['\\_', /is not a regular expression/],
    ['a{1001}', /more than 1000 times/],
    ['x'.repeat(257), /more than 256 characters/],
  ];
  for (const [pattern, message] of bad)
    it(`${pattern.slice(0, 50)} is refused`, () => assert.match(String(schemaProblem({ pattern })), message));

  const atom = fc.constantFrom('a', 'b', '[ab]', '.', '(a|b)', '(?:ab)', '(ab?)', '(a|ab)');
  const quantifier = fc.constantFrom('', '', '?', '*', '+', '{2}', '{0,3}', '{1,}', '*?');
  const anyPattern = fc
    .array(
      fc.tuple(atom, quantifier).map((pair) => pair.join('')),
      { maxLength: 6 },
    )
    .chain((parts) => fc.constantFrom(parts.join(''), `^${parts.join('')}$`, `${parts.join('')}c`));

  it('every admitted pattern ends within its steps', () => {
    let admitted = 0;
    fc.assert(
      fc.property(anyPattern, fc.integer({ min: 0, max: 60 }), (pattern, length) => {
        try {
          const steps = stepsOf(parsePattern(pattern), length);
          if (steps > 5_000_000) return;
          admitted += 1;
          // One that needed more than its steps would keep the test from its end.
          new RegExp(pattern, 'u').test('a'.repeat(length));
        } catch (error) {
          assert.ok(error instanceof PatternProblem, `${pattern}: ${error}`);
        }
      }),
      { numRuns: repetitions(300, 5_000) },
    );
    assert.ok(admitted > 50, String(admitted));
  });
});

describe('validation', () => {
  const schema = {
    type: 'object',
    properties: {
      amount: { type: 'number', multipleOf: 0.01, maximum: 1_000 },
      lines: { items: { required: ['id'] }, maxItems: 2 },
      constructor: { type: 'string' },
    },
    required: ['amount', 'toString'],
  };
  const base = { amount: 1, toString: 1 };
  const cases: [object, string | undefined][] = [
    [base, undefined],
    [{ amount: 1 }, '/toString'],
    [{ ...base, amount: 19.99 }, undefined],
    [{ ...base, amount: 19.995 }, '/amount'],
    [{ ...base, amount: 1_000.01 }, '/amount'],
    [{ ...base, lines: [{ id: 1 }, {}] }, '/lines/1/id'],
    [{ ...base, lines: [{ id: 1 }, { id: 1 }, { id: 1 }] }, '/lines'],
    [{ ...base, constructor: 1 }, '/constructor'],
  ];
  for (const [value, pointer] of cases)
    it(`${JSON.stringify(value)}: ${pointer ?? 'valid'}`, () =>
      assert.equal(problemOf(schema, value)?.pointer, pointer));

  it('names fields with JSON pointers', () =>
    assert.equal(problemOf({ additionalProperties: false }, { 'a/b~c': 1 })?.pointer, '/a~1b~0c'));

  const formats: [string, string, boolean][] = [
    ['date', '2028-02-29', true],
    ['date', '2027-02-29', false],
    ['date-time', '2028-02-29T23:59:59.5+01:00', true],
    ['date-time', '2028-02-29', false],
    ['time', '23:59:59Z', true],
    ['email', 'a@b.example', true],
    ['email', 'a b@example', false],
    ['uri', 'https://a.example/?b', true],
    ['uri', '/a', false],
    ['uuid', '0b9f4e1c-6a51-4c0e-9d4f-2f0d9a3f7c55', true],
    ['uuid', '0b9f4e1c', false],
    ['ipv4', '127.0.0.1', true],
    ['ipv4', '::1', false],
    ['ipv4', '127.0.0.256', false],
    ['ipv4', '127.0.0.1.', false],
    ['ipv4', '127.0.01', false],
    ['ipv6', '::1', true],
    ['ipv6', '::ffff:127.0.0.1', true],
    ['ipv6', '1::2::3', false],
    ['ipv6', '127.0.0.1', false],
    ['constructor', 'anything', true],
    ['unknown', 'anything', true],
  ];
  for (const [format, text, isValid] of formats)
    it(`${format} ${isValid ? 'admits' : 'refuses'} ${text}`, () =>
      assert.equal(problemOf({ format }, text) === undefined, isValid));

  const hostile: [string, object, unknown][] = [
    [
      'many schemas for many values',
      { items: { allOf: Array(450).fill({ minimum: 1 }) } },
      Array(1_900).fill(2),
    ],
    ['long texts for slow patterns', { pattern: '[a-z]+@[a-z]+' }, 'a'.repeat(4_000)],
    [
      'many patterns for many names',
      manyNamePatterns(),
      Object.fromEntries(range(600).map((n) => [`a${n}`, 1])),
    ],
    ['comparisons of lists', { allOf: Array(300).fill({ uniqueItems: true }) }, range(1_000)],
    ['long lists of values', { items: { enum: range(1_500) } }, Array(1_900).fill(1_499)],
  ];
  for (const [name, hard, value] of hostile)
    it(`ends early: ${name}`, () => {
      assert.equal(schemaProblem(hard), undefined);
      assert.equal(problemOf(hard, value)?.message, 'is too large to be checked');
    });

  it('the details of a request share one budget', () => {
    const budget = newBudget();
    const hard = { items: { allOf: Array(40).fill({ minimum: 1 }) } };
    const validateAgain = () => validate(hard, Array(600).fill(2), '', budget)?.message;
    assert.deepEqual([validateAgain(), validateAgain(), validateAgain()].map(Boolean), [false, false, true]);
  });
});

describe('against another implementation', () => {
  const name = fc.constantFrom('a', 'b', 'ab', 'x/y');
  const scalar = fc.oneof(
    fc.constantFrom('', 'a', 'ab', 'b', '😀', 0, 1, 2, 3, -1, 1.5, true, false, null),
    fc.integer({ min: -5, max: 5 }),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      scalar,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(name, tie('value'), { maxKeys: 4 }),
    ),
  }));
  const count = fc.integer({ min: 0, max: 3 });
  const names = fc.uniqueArray(name, { maxLength: 2 });
  const pattern = fc.constantFrom('a', '^a', 'b$', '^[ab]+$', '^.$');
  const keywords = (schema: fc.Arbitrary<unknown>): Record<string, fc.Arbitrary<unknown>> => {
    const some = fc.array(schema, { minLength: 1, maxLength: 3 });
    const map = fc.dictionary(name, schema, { maxKeys: 3 });
    const type = fc.constantFrom('null', 'boolean', 'number', 'integer', 'string', 'array', 'object');
    return {
      type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
      const: value,
      enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }),
      minimum: count,
      maximum: count,
      exclusiveMinimum: count,
      exclusiveMaximum: count,
      multipleOf: fc.integer({ min: 1, max: 3 }),
      minLength: count,
      maxLength: count,
      pattern,
      minItems: count,
      maxItems: count,
      uniqueItems: fc.boolean(),
      prefixItems: some,
      items: schema,
      contains: schema,
      minContains: count,
      maxContains: count,
      minProperties: count,
      maxProperties: count,
      required: names,
      properties: map,
      patternProperties: fc.dictionary(pattern, schema, { maxKeys: 2 }),
      additionalProperties: schema,
      propertyNames: schema,
      dependentRequired: fc.dictionary(name, names, { maxKeys: 2 }),
      dependentSchemas: map,
      allOf: some,
      anyOf: some,
      oneOf: some,
      not: schema,
      if: schema,
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
      then: schema,
      else: schema,
      $ref: fc.constantFrom('#/$defs/a', '#/$defs/b'),
    };
  };
  const one = (schema: fc.Arbitrary<unknown>) =>
    fc
      .uniqueArray(
        fc.oneof(
          ...Object.entries(keywords(schema)).map(([keyword, given]) =>
            given.map((each) => [keyword, each] as const),
          ),
        ),
        { maxLength: 4, selector: ([keyword]) => keyword },
      )
      .map((pairs) => Object.fromEntries(pairs) as object);
  const { schema } = fc.letrec((tie) => ({
    schema: fc.oneof({ maxDepth: 3 }, fc.boolean(), one(tie('schema'))),
  }));
  const plain = fc.constantFrom<object | boolean>(
    true,
    false,
    { type: 'string' },
    { minimum: 1 },
    { required: ['a'] },
  );

  it('finds the same values valid', () => {
    const seen = { valid: 0, invalid: 0 };
    fc.assert(
      fc.property(
        one(schema),
        plain,
        plain,
        fc.array(value, { minLength: 1, maxLength: 5 }),
        (root, a, b, values) => {
          const whole = JSON.parse(JSON.stringify({ ...root, $defs: { a, b } }));
          const problem = schemaProblem(whole);
          if (problem !== undefined) return;
          for (const each of JSON.parse(JSON.stringify(values))) {
            const expected = Check(whole, each);
            seen[expected ? 'valid' : 'invalid'] += 1;
            assert.equal(problemOf(whole, each) === undefined, expected, JSON.stringify([whole, each]));
          }
        },
      ),
      { numRuns: repetitions(400, 5_000) },
    );
    assert.ok(seen.valid > 50 && seen.invalid > 50, JSON.stringify(seen));
  });
});

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function manyNamePatterns(): object {
  return {
    patternProperties: Object.fromEntries(range(300).map((n) => [`^a${n}x+$`, true])),
    additionalProperties: true,
  };
}
