import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ApiError } from '../../fail.ts';
import { readForm, readJson } from './body.ts';

const read = (form: string | Buffer) => ({ ...readForm(Buffer.from(form)) });

describe('readForm', () => {
  it('reads the output of URLSearchParams', () => {
    const text = fc.string({
      unit: fc.oneof(fc.constantFrom('&', '=', '+', '%', ' ', 'ä', '😀'), fc.constantFrom(...'abc123~é')),
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text)), (pairs) => {
        const sent = new URLSearchParams(pairs);
        const form = readForm(Buffer.from(sent.toString()));
        assert.deepEqual(new Set(Object.keys(form)), new Set(sent.keys()));
        for (const name of sent.keys()) assert.deepEqual([form[name]].flat(), sent.getAll(name));
      }),
    );
  });

  const forms: [string, Record<string, string | string[]>][] = [
    ['', {}],
    ['&&', {}],
    ['a', { a: '' }],
    ['a=', { a: '' }],
    ['=a', { '': 'a' }],
    ['a=b=c', { a: 'b=c' }],
    ['a=1&b=2&a=3&a=4', { a: ['1', '3', '4'], b: '2' }],
    ['a+b=c+d%2B', { 'a b': 'c d+' }],
    ['%61=%C3%A4', { a: 'ä' }],
    ['a=ä', { a: 'ä' }],
    ['toString=1', { toString: '1' }],
  ];
  for (const [sent, form] of forms)
    it(`${sent || 'the empty form'} gives ${JSON.stringify(form)}`, () => {
      assert.deepEqual(read(sent), form);
    });

  for (const [what, sent] of [
    ['a broken escape', 'a=%zz'],
    ['half an escape', 'a=%4'],
    ['half a character', 'a=%C3'],
    ['a broken escape in a name', '%zz=a'],
    ['bytes that are not UTF-8', Buffer.from([0x61, 0x3d, 0xff])],
  ] as const)
    it(`refuses ${what}`, () => {
      assert.throws(
        () => read(sent),
        (error) => error instanceof ApiError && error.code === 'VALIDATION_ERROR',
      );
    });
});

describe('readJson', () => {
  const name = fc.constantFrom('a', 'b', '1', 'toJSON', '{":', '\\"');
  const { value: json } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, name, fc.integer(), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 3 }),
    object: fc.dictionary(name, tie('value')),
  }));

  for (const [spelling, indent] of [
    ['compact', 0],
    ['indented', 2],
  ] as const) {
    const textOf = (value: unknown) => JSON.stringify(value, null, indent);

    it(`reads ${spelling} text`, () => {
      fc.assert(
        fc.property(json, (value) => {
          assert.deepEqual(readJson(Buffer.from(textOf(value))), JSON.parse(textOf(value)));
        }),
      );
    });

    it(`refuses a duplicate field in ${spelling} text, with the same value and with another`, () => {
      fc.assert(
        fc.property(json, json, fc.boolean(), (first, other, same) => {
          const field = (value: unknown) => `"twice":${textOf(value)}`;
          const text = textOf([first, 'here']).replace(
            /"here"(?=\s*\]$)/,
            () => `{${field(first)},${field(same ? first : other)}}`,
          );
          assert.throws(
            () => readJson(Buffer.from(text)),
            (error) => error instanceof ApiError && error.code === 'VALIDATION_ERROR',
          );
        }),
      );
    });
  }
});
