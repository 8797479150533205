/** Which failures pass, and when a read is sent again after them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../console/src/api/api-error.ts';
import { isTransient, isUnavailable, retryDelay } from '../../console/src/api/retry.ts';

const errorOf = (status: number, retryAfterSeconds?: number) =>
  new ApiError({
    status,
    code: status === 0 ? 'NO_CONNECTION' : `HTTP_${status}`,
    message: '',
    retryAfterSeconds,
  });
const consoleError = new ApiError({ status: 0, code: 'CONSOLE_ERROR', message: 'x is undefined' });

describe('isTransient', () => {
  const cases: [what: string, error: unknown, expected: boolean][] = [
    ['no answer', errorOf(0), true],
    ['429', errorOf(429), true],
    ['429 for a minute', errorOf(429, 60), true],
    ['429 until midnight', errorOf(429, 40_000), false],
    ['502 of a proxy', errorOf(502), true],
    ['503', errorOf(503, 1), true],
    ['504', errorOf(504), true],
    ['400', errorOf(400), false],
    ['401', errorOf(401), false],
    ['404', errorOf(404), false],
    ['500', errorOf(500), false],
    ["the console's own fault", consoleError, false],
    ['another error', new Error('no JSON'), false],
    ['none', null, false],
  ];
  for (const [what, error, expected] of cases) it(what, () => assert.equal(isTransient(error), expected));
});

it('isUnavailable: no answer, or one that says so; not the rate limit', () => {
  assert.deepEqual(
    [0, 502, 503, 504, 429, 500].map((status) => isUnavailable(errorOf(status))),
    [true, true, true, true, false, false],
  );
});

describe('retryDelay', () => {
  const cases: [what: string, failures: number, error: unknown, least: number, most: number][] = [
    ['the first', 0, errorOf(0), 500, 1_000],
    ['doubles', 2, errorOf(0), 2_000, 4_000],
    ['is bounded', 40, errorOf(0), 7_500, 15_000],
    ['429 with Retry-After: never earlier', 0, errorOf(429, 30), 30_000, 30_500],
    ['429 with Retry-After: not later either', 9, errorOf(429, 1), 1_000, 1_500],
    ['429 without Retry-After', 1, errorOf(429), 1_000, 2_000],
    ['503 with Retry-After', 0, errorOf(503, 5), 5_000, 5_500],
    ['503 that lasts longer than it said', 9, errorOf(503, 1), 7_500, 15_000],
  ];
  for (const [what, failures, error, least, most] of cases)
    it(what, () => {
      assert.equal(retryDelay(failures, error, 0), least);
      assert.equal(retryDelay(failures, error, 1), most);
    });
});
