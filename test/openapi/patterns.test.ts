/** The patterns of the OpenAPI document that code checks: both accept and refuse the same values. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  audienceUri,
  dayOrLocalTime,
  dayOrTime,
  httpsUrl,
  httpsUrlWithoutQuery,
  resourceIdentifier,
  streamPosition,
} from '../../src/contract/patterns.ts';
import { openPeriod } from '../../src/features/audit/period.ts';
import { parsePositionId } from '../../src/features/events/messages.ts';
import { identifierProblem } from '../../src/features/resources/identifier.ts';
import { periodOf } from '../../src/features/usage/period.ts';
import { audienceOf } from '../../src/kernel/audience.ts';
import { urlProblem } from '../../src/kernel/url-problem.ts';

const issuer = 'https://auth.invalid';

const urlAccepts = (allowQuery: boolean) => (url: string) =>
  urlProblem(url, { allowHttp: false, allowQuery }) === undefined;
const accepts = (read: () => unknown): boolean => {
  try {
    read();
    return true;
  } catch {
    return false;
  }
};

const addresses = [
  'https://a',
  'https://a.example',
  'https://a.example/',
  'https://A-b_c.example.:8443/x%zz;y="z"',
  'https://192.0.2.7:65535/',
  'https://[::]',
  'https://[2001:db8::1]:1/x',
  'https://xn--bcher-kva.example/',
];
const notAddresses = [
  '',
  'a.example',
  'ftp://a.example',
  'https:a.example',
  'https://',
  'https:///x',
  'https://:443',
  'https://a.example:0',
  'https://a.example:65536',
  'https://.a.example',
  'https://a..example',
  'https://a b',
  'https://a.example/a b',
  'https://a.example\\x',
  'https://bücher.example',
  'https://u:p@a.example',
  'https://@a.example',
  'https://a.example#',
  'https://a.example/x#y',
  'https://[::1',
  'https://[1]',
  'https://[1:2:3:4:5:6:7:8:9]',
  'https://1.2.3.256',
];
const days = ['2030-01-31', '2028-02-29', '2000-02-29', '2030-04-30'];
const notDays = [
  '',
  'today',
  '2030-1-31',
  '2030-04-31',
  '2030-02-29',
  '2100-02-29',
  '2030-13-01',
  '2030-00-10',
];
const times = ['2030-01-31T12:00Z', '2030-01-31T23:59:59.999999999+14:00', '2030-01-31T00:00:00-23:59'];
const notTimes = ['2030-01-31T25:00Z', '2030-01-31T12Z', '2030-01-31T12:60Z', '2030-01-31 12:00Z'];

const cases: readonly {
  what: string;
  pattern: string;
  accepts: (value: string) => boolean;
  valid: readonly string[];
  invalid: readonly string[];
  /** Matching values that code refuses: JSON Schema cannot state the rule. */
  beyond?: RegExp;
}[] = [
  {
    what: 'https URL',
    pattern: httpsUrl,
    accepts: urlAccepts(true),
    valid: [...addresses, 'https://a.example?x=1', 'https://a.example/x?y=?'],
    invalid: [...notAddresses, 'http://a.example'],
    beyond: /^https:\/\/[^/?]*xn--/i,
  },
  {
    what: 'https URL without a query',
    pattern: httpsUrlWithoutQuery,
    accepts: urlAccepts(false),
    valid: addresses,
    invalid: [...notAddresses, 'http://a.example', 'https://a.example?', 'https://a.example/x?y'],
    beyond: /^https:\/\/[^/]*xn--/i,
  },
  {
    what: 'audience',
    pattern: audienceUri,
    accepts: (value) => audienceOf(value, issuer) !== undefined,
    valid: [...addresses, 'http://a.example/x?y'],
    invalid: notAddresses.filter((value) => !/:0$|\/\.|\.\./.test(value)),
    beyond: /^https?:\/\/[^/?]*xn--/i,
  },
  {
    what: 'identifier of a resource',
    pattern: resourceIdentifier,
    accepts: (value) => identifierProblem(value, issuer) === undefined,
    valid: [
      'https://api.example',
      'https://api.example:8443/Orders/v1/',
      "https://api.example/a%2Fb;c=d,e/...!$&'()*+/.well-known/..x",
      'https://192.0.2.7/',
      'https://[2001:db8::1]/x',
      'http://localhost:8080/api',
      'http://127.8.9.10/',
      'http://[::1]:3000',
    ],
    invalid: [
      ...notAddresses.filter((value) => value !== 'https://[1]' && value !== 'https://[1:2:3:4:5:6:7:8:9]'),
      'http://api.example',
      'http://10.0.0.1',
      'HTTPS://api.example',
      'https://API.example',
      'https://api.example./',
      'https://api.example:08443',
      'https://api.example?',
      'https://api.example//x',
      'https://api.example/./x',
      'https://api.example/x/..',
      'https://api.example/%2f',
      'https://api.example/%41',
      'https://api.example/%2E',
      'https://api.example/%',
      'https://api.example/a|b',
    ],
    beyond: /^https:\/\/(?:[^/]*xn--|\[|[^/]*:443(?:\/|$))|^http:\/\/[^/]*:80(?:\/|$)/,
  },
  {
    what: 'day or time with a zone',
    pattern: dayOrTime,
    accepts: (from) => accepts(() => periodOf({ from, to: from }, Date.now())),
    valid: [...days, ...times],
    invalid: [...notDays, ...notTimes, '2030-01-31T12:00', '2030-01-31T12:00+0100'],
    // Years in which date arithmetic could overflow.
    beyond: /^(?:0|1000-01-01|9998-12-31|9999)/,
  },
  {
    what: 'day or time',
    pattern: dayOrLocalTime,
    accepts: (fromDate) => accepts(() => openPeriod({ fromDate })),
    valid: [...days, ...times, '2030-01-31T12:00', '2030-01-31T12:00+0100', '2030-01-31T12:00-01'],
    invalid: [...notDays, ...notTimes],
  },
  {
    what: 'position in the event stream',
    pattern: streamPosition,
    accepts: (id) =>
      id === '' || parsePositionId(`0198c0de-7a10-7c3e-9f00-${id.slice(0, 12)}`, id) !== undefined,
    valid: ['', '9b7f04c1a2d3-0', '9b7f04c1a2d3-42', '9b7f04c1a2d3-999999999999999'],
    invalid: [
      '42',
      '9b7f04c1a2d3',
      '9b7f04c1a2d3-',
      '9b7f04c1a2d3--1',
      '9b7f04c1a2d3-1.5',
      '9b7f04c1a2d3-042',
      '9B7F04C1A2D3-42',
      '9b7f04c1a2d3-1000000000000000',
    ],
  },
];

for (const { what, pattern, accepts, valid, invalid, beyond = /^$/ } of cases)
  describe(`the documented pattern: ${what}`, () => {
    const expression = new RegExp(pattern);
    it('matches valid values, and code accepts them', () => {
      for (const value of valid)
        assert.deepEqual([expression.test(value), accepts(value)], [true, true], value);
    });
    it('does not match invalid values, and code refuses them', () => {
      for (const value of invalid)
        assert.deepEqual([expression.test(value), accepts(value)], [false, false], value);
    });
    it('matches only values that code accepts', () => {
      fc.assert(
        fc.property(fc.stringMatching(expression), (value) => beyond.test(value) || accepts(value)),
        { numRuns: 1_000 },
      );
    });
  });
