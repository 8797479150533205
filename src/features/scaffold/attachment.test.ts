import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { attachment } from './attachment.ts';

describe('the name of an archive in a header', () => {
  const cases: [name: string, header: string][] = [
    ['screener-1', 'attachment; filename="screener-1-scaffold.zip"'],
    ['', 'attachment; filename="agent-scaffold.zip"'],
    ['..', `attachment; filename="_-scaffold.zip"`],
    ['../x', `attachment; filename="__x-scaffold.zip"`],
    ['a"b', `attachment; filename="a_b-scaffold.zip"; filename*=UTF-8''a%22b-scaffold.zip`],
    [
      'a\r\nSet-Cookie: x',
      `attachment; filename="a__Set-Cookie__x-scaffold.zip"; filename*=UTF-8''a__Set-Cookie%3A%20x-scaffold.zip`,
    ],
    ['é', `attachment; filename="_-scaffold.zip"; filename*=UTF-8''%C3%A9-scaffold.zip`],
    ['a\u202eb', 'attachment; filename="a_b-scaffold.zip"'],
  ];
  for (const [name, header] of cases) {
    it(`${JSON.stringify(name)} → ${header}`, () => assert.equal(attachment(name), header));
  }

  it('is one short line of ASCII for any name, without path traversal', () => {
    const form = /^attachment; filename="([\w.+-]{1,120})"(; filename\*=UTF-8''([\w.+!#$&^`|~%-]+))?$/;
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => {
        const [, plain = '', , encoded] = form.exec(attachment(name)) ?? [];
        assert.ok(plain, attachment(name));
        for (const file of [plain, decodeURIComponent(encoded ?? plain)]) {
          assert.ok(file.endsWith('-scaffold.zip') && !file.startsWith('.'));
          assert.doesNotMatch(file, /[/\\\p{Cc}]/u);
        }
      }),
      { numRuns: 500 },
    );
  });
});
