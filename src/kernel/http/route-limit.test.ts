/** Routes with their own rate limit, in addition to the common one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { InjectOptions } from 'fastify';
import { startHttp } from '../../../test/support/bare-http.ts';
import { createMemoryKv } from '../../adapters/kv/memory-kv.ts';
import Type from '../../contract/json-schema.ts';
import type { Scope } from '../../contract/scopes.ts';
import type { Identity } from './access/identity.ts';
import { createRateWindow } from './rate-window.ts';
import { type Access, type Limit, open, type RouteEntry, rootRoute, scope } from './route.ts';

const at = (url: string, access: Access, limit: Limit): RouteEntry =>
  rootRoute({
    id: url,
    summary: url,
    tag: 'Test',
    method: 'GET',
    url,
    access,
    limit,
    schema: { response: { 200: Type.Object({}) } },
    handler: () => ({}),
  });

const routes = [
  at('/plain', scope('audit:read'), 'caller'),
  at('/each', scope('audit:read'), { perMinute: 3, per: 'caller' }),
  at('/other', scope('audit:read'), { perMinute: 3, per: 'caller' }),
  at('/shared', scope('audit:read'), { perMinute: 3, per: 'organization' }),
  at('/shown', scope('audit:read'), { perMinute: 3, per: 'organization', headers: 'own' }),
  at('/open', open(), { perMinute: 3, per: 'organization' }),
];

const identity = (agentId: string, organizationId: string, scopes: Scope[] = ['audit:read']): Identity => ({
  agentId,
  organizationId,
  organizationStatus: 'active',
  planTier: 'enterprise',
  scopes: new Set(scopes),
  grantableScopes: new Set(scopes),
  tokenId: agentId,
});
const known: Record<string, Identity> = {
  anna: identity('anna', 'acme'),
  bert: identity('bert', 'acme'),
  zoe: identity('zoe', 'zeta'),
  scopeless: identity('scopeless', 'acme', []),
};

/** With a clock that starts at the beginning of a minute and stands still until `advance`. */
async function startServer(perMinute = 10) {
  const start = 30_000_000 * 60_000;
  let ahead = 0;
  const clock = { now: () => start + ahead };
  const kv = createMemoryKv(clock);
  const { metrics, ...http } = await startHttp(routes, {}, [], {
    window: createRateWindow({ kv, fallback: kv, clock, perMinute }),
    authenticate: async (token) => known[token],
  });
  const get = async (url: string, token?: string, more: InjectOptions = {}) => {
    const { statusCode, headers, body } = await http.server.inject({
      method: 'GET',
      url,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      ...more,
    });
    const { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': remaining } = headers;
    return { status: statusCode, window: `${remaining}/${limit}`, headers, json: JSON.parse(body) };
  };
  const statuses = async (count: number, url: string, token?: string) => {
    const seen: number[] = [];
    while (seen.length < count) seen.push((await get(url, token)).status);
    return seen;
  };
  return {
    get,
    statuses,
    metrics,
    http,
    resetAt: start / 1000 + 60,
    advance: (ms: number) => {
      ahead += ms;
    },
  };
}

describe('a route with its own rate limit', () => {
  it('429 RATE_LIMIT_EXCEEDED beyond it, with its own headers, until the minute is over', async () => {
    const { get, statuses, metrics, resetAt, advance } = await startServer();
    assert.deepEqual(await statuses(3, '/each', 'anna'), [200, 200, 200]);
    advance(20_000);
    const { status, json, headers } = await get('/each', 'anna');
    assert.deepEqual([status, json.code], [429, 'RATE_LIMIT_EXCEEDED']);
    assert.deepEqual(json.details, { limit: 3, resetAt });
    assert.equal(headers['retry-after'], '40');
    assert.equal(headers['x-ratelimit-limit'], '3');
    assert.equal(headers['x-ratelimit-remaining'], '0');
    assert.equal(headers['x-ratelimit-reset'], String(resetAt));
    assert.match(await metrics.text(), /^service_rate_limit_hits_total\{client_id="anna"\} 1$/m);
    advance(40_000);
    assert.deepEqual(await statuses(4, '/each', 'anna'), [200, 200, 200, 429]);
  });

  it('200 with the headers of the common window', async () => {
    const { get } = await startServer();
    assert.equal((await get('/each', 'anna')).window, '9/10');
    assert.equal((await get('/plain', 'anna')).window, '8/10');
    assert.equal((await get('/each', 'anna')).window, '7/10');
  });

  it("200 with the headers of its own window when the entry says `headers: 'own'`", async () => {
    const { get, statuses } = await startServer();
    await statuses(9, '/plain', 'anna');
    assert.equal((await get('/shown', 'anna')).window, '2/3', 'although the common window is used up');
    assert.equal((await get('/shown', 'bert')).window, '1/3');
  });

  it('429 by the common window when that is used up first', async () => {
    const { get, statuses } = await startServer(2);
    assert.deepEqual(await statuses(3, '/each', 'anna'), [200, 200, 429]);
    const { json, window } = await get('/each', 'anna');
    assert.deepEqual([json.details.limit, window], [2, '0/2']);
  });

  it('counts in the common window too; other routes and callers are not affected', async () => {
    const { get, statuses } = await startServer();
    assert.deepEqual(await statuses(4, '/each', 'anna'), [200, 200, 200, 429]);
    assert.equal((await get('/plain', 'anna')).window, '5/10');
    assert.deepEqual(await statuses(4, '/other', 'anna'), [200, 200, 200, 429]);
    assert.deepEqual(await statuses(4, '/each', 'bert'), [200, 200, 200, 429]);
  });

  it('per organization: its callers share the window, another organization has its own', async () => {
    const { get, statuses } = await startServer();
    assert.deepEqual(await statuses(2, '/shared', 'anna'), [200, 200]);
    assert.deepEqual(await statuses(2, '/shared', 'bert'), [200, 429]);
    assert.equal((await get('/shared', 'anna')).status, 429);
    assert.deepEqual(await statuses(4, '/shared', 'zoe'), [200, 200, 200, 429]);
  });

  it('refused requests do not use it up', async () => {
    const { statuses } = await startServer();
    assert.deepEqual(await statuses(4, '/shared', 'scopeless'), [403, 403, 403, 403]);
    assert.deepEqual(await statuses(4, '/shared'), [401, 401, 401, 401]);
    assert.deepEqual(await statuses(4, '/shared', 'anna'), [200, 200, 200, 429]);
  });

  it('anonymous requests count per address', async () => {
    const { get, statuses } = await startServer();
    assert.equal((await get('/each')).window, '9/10');
    assert.deepEqual(await statuses(4, '/open'), [200, 200, 200, 429]);
    assert.equal((await get('/open', undefined, { remoteAddress: '192.0.2.2' })).status, 200);
    assert.deepEqual(await statuses(4, '/open', 'anna'), [200, 200, 200, 429]);
  });

  it('200 for exactly the limit of concurrent requests', async () => {
    const { get } = await startServer(1_000);
    const answers = await Promise.all(Array.from({ length: 50 }, () => get('/each', 'anna')));
    assert.equal(answers.filter(({ status }) => status === 200).length, 3);
    assert.equal(answers.filter(({ status }) => status === 429).length, 47);
  });

  it('is in the API description', async () => {
    const { http } = await startServer();
    const paths = (await http.openapi()).paths as Record<string, { get: { description: string } }>;
    assert.match(
      paths['/shared']?.get.description ?? '',
      /At most 3 requests a minute for each organization\./,
    );
    assert.doesNotMatch(paths['/plain']?.get.description ?? '', /At most/);
  });
});
