import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshFor } from './freshness.ts';

const now = Date.parse('2030-01-31T12:00:00Z');
const at = (seconds: number) => new Date(now + seconds * 1000).toUTCString();
const seconds = (headers: Record<string, string | string[]>) => freshFor(headers, now) / 1000;

test('a response is fresh for max-age less its age, or until Expires; from a minute to a day', () => {
  const cases: [Record<string, string | string[]>, number][] = [
    [{}, 60],
    [{ 'cache-control': 'max-age=600' }, 600],
    [{ 'cache-control': 'MAX-AGE="600"' }, 600],
    [{ 'cache-control': ['public', 'max-age=600'] }, 600],
    [{ 'cache-control': 'max-age=600, stale-while-revalidate=9000' }, 600],
    [{ 'cache-control': 'max-age=600', age: '100' }, 500],
    [{ 'cache-control': 'max-age=600', age: 'old' }, 600],
    [{ 'cache-control': 'max-age=600', age: '9999' }, 60],
    [{ 'cache-control': 'max-age=600', expires: at(3_600) }, 600],
    [{ 'cache-control': 'max-age=600, no-store' }, 60],
    [{ 'cache-control': 'no-cache' }, 60],
    [{ 'cache-control': 'max-age=999999999999999' }, 86_400],
    [{ 'cache-control': 's-maxage=600' }, 60],
    [{ expires: at(3_600) }, 3_600],
    [{ expires: at(3_600), date: at(600) }, 3_000],
    [{ expires: at(3_600), age: '600' }, 3_000],
    [{ expires: at(-3_600) }, 60],
    [{ expires: '0' }, 60],
    [{ expires: at(900_000) }, 86_400],
  ];
  for (const [headers, expected] of cases) assert.equal(seconds(headers), expected, JSON.stringify(headers));
});
