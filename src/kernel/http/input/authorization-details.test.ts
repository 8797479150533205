/** The shape of `authorization_details`, whatever a client sends. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { TokenError } from '../../fail.ts';
import { describeProblem, parseAuthorizationDetails, readNarrowing } from './authorization-details.ts';

describe('parseAuthorizationDetails', () => {
  const item = fc.dictionary(
    fc.string({ unit: 'binary', maxLength: 5 }).filter((name) => name !== '__proto__'),
    fc.jsonValue({ maxDepth: 3 }),
    { maxKeys: 4 },
  );
  const details = fc.array(
    item.map((more) => ({ ...more, type: 'payment' })),
    { minLength: 1, maxLength: 10 },
  );

  it('reads what JSON means, or names a place, in characters that RFC 6749 allows', () => {
    fc.assert(
      fc.property(details, (given) => {
        const text = JSON.stringify(given);
        const read = parseAuthorizationDetails(text);
        if ('details' in read) assert.deepEqual(read.details, JSON.parse(text));
        else assert.match(describeProblem(read.problem), /^[ !#-[\]-~]{1,700}$/);
      }),
    );
  });

  it('refuses nothing but text that is no such array', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const read = parseAuthorizationDetails(text);
        assert.ok('problem' in read || Array.isArray(JSON.parse(text)));
      }),
    );
  });

  const places: [string, string][] = [
    ['[{"type":"a","b":{"c":[1,9007199254740993]}}]', '/0/b/c/1'],
    ['[{"type":"a"},{"type":"a","b":-1e400}]', '/1/b'],
    ['[{"type":"a","b":{"c\\u0000":1}}]', '/0/b'],
    ['[{"type":"a","b":["\\udc00"]}]', '/0/b/0'],
    ['[{"type":"a","b":{"__proto__":1}}]', '/0/b'],
    ['[{"type":5}]', '/0/type'],
    [`[{"type":"${'a'.repeat(65)}"}]`, '/0/type'],
    ['[null]', '/0'],
    ['[[]]', '/0'],
    ['[{"type":"a","b":{"c":1,"c":1}}]', ''],
  ];
  for (const [text, pointer] of places)
    it(`${text.slice(0, 60)}: "${pointer}"`, () => {
      const read = parseAuthorizationDetails(text);
      assert.equal('problem' in read ? read.problem.pointer : 'none', pointer);
    });

  it('numbers in a spelling that grows do not get past the size', () => {
    const text = `[{"type":"a","b":[${Array(700).fill('1e15').join()}]}]`;
    assert.ok(text.length < 4_096);
    assert.ok('problem' in parseAuthorizationDetails(text));
  });
});

describe('readNarrowing', () => {
  it('is undefined without the field, and for an empty one', () =>
    assert.deepEqual(
      [readNarrowing({}), readNarrowing({ authorization_details: '' })],
      [undefined, undefined],
    ));
  it('invalid_authorization_details with the place', () =>
    assert.throws(
      () => readNarrowing({ authorization_details: '[{}]' }),
      (error) =>
        error instanceof TokenError &&
        error.code === 'invalid_authorization_details' &&
        error.message.startsWith('/0/type'),
    ));
});
