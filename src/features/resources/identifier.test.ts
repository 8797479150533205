import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { identifierProblem } from './identifier.ts';

const issuer = 'https://auth.example';
const problemOf = (identifier: string) => identifierProblem(identifier, issuer);

describe('identifiers', () => {
  for (const identifier of [
    'https://api.example',
    'https://api.example/',
    'https://api.example/orders',
    'https://api.example/orders/',
    'https://api.example:8443/Orders/v1',
    'https://api.example/a%2Fb;c=d,e',
    'https://auth.example/orders',
    'https://auth.example:8443',
    'https://xn--bcher-kva.example/',
    'https://192.0.2.7/',
    'https://[2001:db8::1]/x',
    'http://localhost',
    'http://localhost:8080/api',
    'http://127.0.0.1:3000',
    'http://127.8.9.10/',
    'http://[::1]:3000',
  ])
    it(`accepts ${identifier}`, () => assert.equal(problemOf(identifier), undefined));

  for (const [identifier, reason] of [
    ['', /absolute/],
    ['api.example', /absolute/],
    ['/orders', /absolute/],
    ['ftp://api.example', /absolute/],
    ['urn:example:api', /absolute/],
    ['https:api.example', /absolute/],
    ['https://', /absolute/],
    ['https:///orders', /absolute/],
    ['https://:443', /absolute/],
    ['https://api.example:99999', /absolute/],
    ['https://*.example', /absolute/],
    ['https://api.example/a|b', /absolute/],
    ['https://api.example/"', /absolute/],
    ['https://[::1', /absolute/],
    ['https://api.ex%61mple', /absolute/],
    ['https://api.example/orders#x', /fragment/],
    ['https://api.example/orders#', /fragment/],
    ['https://api.example/orders?x=1', /query/],
    ['https://api.example/orders?', /query/],
    ['https://user:pass@api.example', /credentials/],
    ['https://@api.example', /credentials/],
    ['https://api.example/a b', /blanks/],
    [' https://api.example', /absolute/],
    ['https://api.example\n', /blanks/],
    ['https://api.example/\u0007', /blanks/],
    ['https://api.example\\orders', /backslashes/],
    ['https://bücher.example', /ASCII/],
    ['http://api.example', /https/],
    ['http://localhost.example', /https/],
    ['http://127.0.0.1.example', /https/],
    ['http://10.0.0.1', /https/],
    ['http://[::2]', /https/],
    ['HTTPS://api.example', /canonical/],
    ['https://API.example', /canonical/],
    ['https://api.example:443', /canonical/],
    ['http://localhost:80', /canonical/],
    ['https://api.example:08443', /canonical/],
    ['https://api.example:', /absolute/],
    ['https://api.example:0', /canonical/],
    ['https://api.example./', /canonical/],
    ['https://api..example', /canonical/],
    ['https://api.example/a/../b', /canonical/],
    ['https://api.example/./b', /canonical/],
    ['https://api.example/a/%2e%2e/b', /canonical/],
    ['https://api.example//orders', /canonical/],
    ['https://api.example/orders//', /canonical/],
    ['https://api.example/%2f', /canonical/],
    ['https://api.example/%41', /canonical/],
    ['https://api.example/%zz', /canonical/],
    ['https://api.example/%', /canonical/],
    ['https://0x7f.1', /canonical/],
    ['https://2130706433', /canonical/],
    ['https://[0:0:0:0:0:0:0:1]', /canonical/],
    ['https://auth.example', /address of this server/],
    ['https://auth.example/', /address of this server/],
    ['HTTPS://AUTH.example:443/', /address of this server/],
    ['https://auth.example./', /address of this server/],
    ['https://auth.example/x/..', /address of this server/],
    ['http://auth.example', /address of this server/],
  ] as const)
    it(`refuses ${JSON.stringify(identifier)}`, () =>
      assert.match(problemOf(identifier) ?? 'accepted', reason));

  it('an issuer with a path is refused in every spelling, its neighbours are not', () => {
    const at = (identifier: string) => identifierProblem(identifier, 'https://example.com/auth');
    for (const own of ['https://example.com/auth', 'https://example.com/auth/'])
      assert.match(at(own) ?? 'accepted', /address of this server/);
    assert.equal(at('https://example.com'), undefined);
    assert.equal(at('https://example.com/authority'), undefined);
  });

  it('never throws, and accepts only what the URL parser leaves unchanged', () => {
    const pieces = fc.constantFrom(
      'https://',
      'http://',
      'a',
      'B',
      '.',
      '/',
      ':',
      '%',
      '2f',
      '@',
      '?',
      '#',
      '[',
      ']',
      '::1',
      'localhost',
      '\\',
      ' ',
      '443',
      'é',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        if (problemOf(text) === undefined) assert.ok([text, `${text}/`].includes(new URL(text).href), text);
      }),
      { numRuns: 5_000 },
    );
  });
});
