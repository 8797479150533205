/** How long a response may be cached (RFC 9111 §4.2), within the bounds for client documents. */

import { limits } from '../../contract/limits.ts';
import type { OutboundResponse } from '../../kernel/ports/outbound.ts';

type Headers = OutboundResponse['headers'];

const { minCacheSeconds, maxCacheSeconds } = limits.clientDocument;

const textOf = (headers: Headers, name: string): string => [headers[name] ?? []].flat().join(', ');

/** Seconds by `Expires`; 0 for an invalid one, which means that the response has expired. */
function secondsByExpires(headers: Headers, now: number): number {
  const expires = Date.parse(textOf(headers, 'expires'));
  const date = Date.parse(textOf(headers, 'date'));
  return Number.isNaN(expires) ? 0 : (expires - (Number.isNaN(date) ? now : date)) / 1000;
}

/** In milliseconds from `now`. Without a word of the server: the shortest time. */
export function freshFor(headers: Headers, now: number): number {
  const directives = textOf(headers, 'cache-control').toLowerCase();
  const [, maxAge] = /(?:^|[\s,])max-age="?(\d{1,10})/.exec(directives) ?? [];
  const lifetime = maxAge === undefined ? secondsByExpires(headers, now) : Number(maxAge);
  const age = /^\d{1,10}/.exec(textOf(headers, 'age'))?.[0] ?? '0';
  const remaining = /\bno-(?:store|cache)\b/.test(directives) ? 0 : lifetime - Number(age);
  return Math.min(maxCacheSeconds, Math.max(minCacheSeconds, remaining)) * 1000;
}
