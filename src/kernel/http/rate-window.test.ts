import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { type Answer, startApp, startOfMinute } from '../../../test/support/harness.ts';
import { createMemoryKv } from '../../adapters/kv/memory-kv.ts';
import { systemClock } from '../clock.ts';
import { createMetrics } from '../observability/metrics.ts';
import { type Kv, KvUnavailable } from '../ports/kv.ts';
import { createRateWindow } from './rate-window.ts';

const t = await startApp({ RATE_LIMIT_PER_MINUTE: '100' });
const agents = [await t.agent(), await t.agent()] as const;
const [first, second] = agents;

// Every test begins with a new window, so that none spans two of them.
const nextMinute = () => startOfMinute(t.clock);
beforeEach(nextMinute);

const list = (token?: string, remoteAddress = '192.0.2.1') =>
  t.call('GET', '/api/v1/agents', { remoteAddress, ...(token !== undefined && { token }) });
const askToken = (fields: Record<string, string>, remoteAddress = '192.0.2.1') =>
  t.call('POST', '/api/v1/token', {
    remoteAddress,
    payload: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
const credentialsOf = (client: { clientId: string; clientSecret: string }) => ({
  grant_type: 'client_credentials',
  client_id: client.clientId,
  client_secret: client.clientSecret,
});
const tokenOf = async (client: typeof first) => (await askToken(credentialsOf(client))).json.access_token;

const remaining = ({ headers }: Answer) => Number(headers['x-ratelimit-remaining']);
async function times(count: number, ask: () => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < count) answers.push(await ask());
  return answers;
}
const statusesOf = (answers: Answer[]) => [...new Set(answers.map(({ status }) => status))];
const countdown = (from: number) => Array.from({ length: from + 1 }, (_, index) => from - index);

describe('the rate limit', () => {
  it('429 RATE_LIMIT_EXCEEDED for the 101st request of a client, until the minute is over', async () => {
    const token = await tokenOf(first);
    nextMinute();
    // From any address: the client is counted.
    let address = 0;
    const answers = await times(100, () => list(token, `192.0.2.${++address}`));
    assert.deepEqual(statusesOf(answers), [200]);
    assert.deepEqual(answers.map(remaining), countdown(99));

    t.clock.advance(20_000);
    const { status, headers, json } = await list(token);
    const reset = (Math.floor(t.clock.now() / 60_000) + 1) * 60;
    assert.equal(status, 429);
    assert.equal(json.code, 'RATE_LIMIT_EXCEEDED');
    assert.equal(typeof json.message, 'string');
    assert.deepEqual(json.details, { limit: 100, resetAt: reset });
    assert.equal(headers['x-ratelimit-limit'], '100');
    assert.equal(headers['x-ratelimit-remaining'], '0');
    assert.equal(headers['x-ratelimit-reset'], String(reset));
    const wait = Number(headers['retry-after']);
    assert.ok(Number.isInteger(wait) && wait > 0 && wait <= 40);
    // On all routes.
    for (const url of ['/health', '/nowhere', '/metrics'])
      assert.equal((await t.call('GET', url, { token })).status, 429);

    t.clock.advance(wait * 1000);
    const again = await list(token);
    assert.equal(again.status, 200);
    assert.equal(remaining(again), 99);
    assert.equal(again.headers['x-ratelimit-reset'], String(reset + 60));
  });

  it('two clients, and a client and its address, have separate windows', async () => {
    const tokens = [await tokenOf(first), await tokenOf(second)] as const;
    nextMinute();
    assert.deepEqual(statusesOf(await times(101, () => list(tokens[0]))), [200, 429]);
    assert.equal(remaining(await list(tokens[1])), 99);
    const anonymous = await times(100, () => list());
    assert.deepEqual(statusesOf(anonymous), [401]);
    assert.deepEqual(anonymous.map(remaining), countdown(99));
    assert.equal((await list()).status, 429);
    assert.equal((await list('not-a-token')).status, 429);
    assert.equal(remaining(await list(undefined, '192.0.2.2')), 99);
    assert.equal((await list(tokens[1])).status, 200);
  });

  it('200 for exactly 100 of 150 concurrent requests', async () => {
    const token = await tokenOf(first);
    nextMinute();
    const answers = await Promise.all(Array.from({ length: 150 }, () => list(token)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 100);
    assert.equal(answers.filter(({ status }) => status === 429).length, 50);
  });

  it('every kind of refused request counts once', async () => {
    const calls = [
      () => t.call('GET', '/nowhere'),
      () => t.call('GET', '/%zz'),
      () => t.call('OPTIONS', '/health'),
      () => t.call('HEAD', '/health'),
      () => t.call('GET', '/api/v1/agents'),
    ];
    const answers: Answer[] = [];
    for (const call of calls) answers.push(await call());
    assert.deepEqual(answers.map(remaining), [99, 98, 97, 96, 95]);
  });
});

describe('the rate limit at POST /token', () => {
  const assertOver = ({ status, json, headers }: Answer) => {
    assert.equal(status, 429);
    assert.deepEqual(Object.keys(json).sort(), ['code', 'error', 'message']);
    assert.deepEqual([json.error, json.code], ['RATE_LIMIT_EXCEEDED', 'RATE_LIMIT_EXCEEDED']);
    assert.equal(headers['x-ratelimit-remaining'], '0');
    assert.ok(Number(headers['retry-after']) >= 1);
  };

  it('wrong secrets count against the address; the client itself is not locked out', async () => {
    const wrong = { ...credentialsOf(first), client_secret: 'cs_wrong' };
    const answers = await times(100, () => askToken(wrong));
    assert.deepEqual(statusesOf(answers), [401]);
    assert.deepEqual(answers.map(remaining), countdown(99));
    assertOver(await askToken(wrong));
    // The authenticated client has its own, unused window, from this address and from any other.
    const authenticated = await askToken(credentialsOf(first));
    assert.equal(authenticated.status, 200);
    assert.equal(remaining(authenticated), 99);
    assert.equal(remaining(await askToken(credentialsOf(first), '192.0.2.2')), 98);
    assert.equal(remaining(await list(authenticated.json.access_token)), 97);
    assertOver(await askToken(wrong));
  });

  it('successful requests count against the client, like its other calls, and not against the address', async () => {
    const answers = await times(99, () => askToken(credentialsOf(first)));
    assert.deepEqual(statusesOf(answers), [200]);
    assert.deepEqual(answers.map(remaining), countdown(99).slice(0, 99));
    assert.equal((await list(answers[0]?.json.access_token)).status, 200);
    assertOver(await askToken(credentialsOf(first)));
    assertOver(await askToken(credentialsOf(first), '192.0.2.2'));
    assert.equal(remaining(await askToken(credentialsOf(second))), 99);
    assert.equal(remaining(await list()), 99);
  });

  const malformed: [string, () => Promise<Answer>, number][] = [
    ['no grant_type', () => askToken({}), 400],
    ['no credentials', () => askToken({ grant_type: 'client_credentials' }), 400],
    ['no form', () => t.call('POST', '/api/v1/token', { payload: {}, remoteAddress: '192.0.2.1' }), 400],
  ];
  for (const [what, ask, status] of malformed) {
    it(`${status} requests with ${what} count too`, async () => {
      const answers = await times(100, ask);
      assert.deepEqual(statusesOf(answers), [status]);
      assert.deepEqual(answers.map(remaining), countdown(99));
      assertOver(await ask());
    });
  }
});

describe('metrics of the rate limit', () => {
  const labelValues = (text: string, metric: string, label: string) =>
    new Set(
      [...text.matchAll(new RegExp(`^${metric}\\{.*?${label}="([^"]*)"`, 'gm'))].map((match) => match[1]),
    );

  it('hits are counted per client, and as anonymous without one', async () => {
    const token = await tokenOf(second);
    nextMinute();
    await times(102, () => list(token));
    await times(101, () => list());
    nextMinute();
    const { text } = await t.call('GET', '/metrics');
    assert.ok(text.includes(`service_rate_limit_hits_total{client_id="${second.clientId}"} 2`));
    const [, anonymous] = /service_rate_limit_hits_total\{client_id="anonymous"\} (\d+)/.exec(text) ?? [];
    assert.ok(Number(anonymous) >= 1);
    const known = new Set<string | undefined>([...agents.map(({ clientId }) => clientId), 'anonymous']);
    const labels = labelValues(text, 'service_rate_limit_hits_total', 'client_id');
    assert.deepEqual(
      [...labels].filter((label) => !known.has(label)),
      [],
    );
  });

  it('beyond 1,000 clients the rest is counted as other; the sum is complete', async () => {
    const metrics = createMetrics();
    for (let index = 0; index < 5_000; index += 1) {
      metrics.count('service_rate_limit_hits_total', { client_id: crypto.randomUUID() });
    }
    const text = await metrics.text();
    const values = labelValues(text, 'service_rate_limit_hits_total', 'client_id');
    assert.ok(values.size <= 1_001 && values.has('other'));
    const sum = [...text.matchAll(/^service_rate_limit_hits_total\{.*\} (\d+)$/gm)]
      .map((match) => Number(match[1]))
      .reduce((a, b) => a + b);
    assert.equal(sum, 5_000);
  });

  it('random paths, methods and ids create no label values', async () => {
    for (let index = 0; index < 90; index += 1) {
      const id = crypto.randomUUID();
      await t.call('GET', index % 2 ? `/${id}` : `/api/v1/agents/${id}`);
    }
    await t.call('PROPFIND' as 'GET', '/health');
    const { text } = await t.call('GET', '/metrics');
    const known = new Set(['unmatched', ...t.app.routes.map(({ path }) => path)]);
    for (const metric of ['service_http_requests_total', 'service_http_request_duration_seconds_count']) {
      const routes = labelValues(text, metric, 'route');
      assert.deepEqual(
        [...routes].filter((route) => !known.has(route ?? '')),
        [],
      );
      assert.ok(routes.has('unmatched') && routes.has('/api/v1/agents/:agentId'));
      assert.ok(labelValues(text, metric, 'method').has('OTHER'));
    }
  });
});

it('while the store is unavailable the process counts alone', async () => {
  const unavailable = new Proxy({} as Kv, { get: () => () => Promise.reject(new KvUnavailable('gone')) });
  const window = createRateWindow({
    kv: unavailable,
    fallback: createMemoryKv(systemClock),
    clock: { now: () => 90_000 },
    perMinute: 2,
  });
  const states = [
    await window.count('a'),
    await window.count('a'),
    await window.peek('a'),
    await window.count('a'),
  ];
  assert.deepEqual(
    states.map(({ remaining, exceeded }) => [remaining, exceeded]),
    [
      [1, false],
      [0, false],
      [0, true],
      [0, true],
    ],
  );
  assert.deepEqual([states[0]?.resetAt, states[0]?.retryAfterSeconds], [120, 30]);
});
