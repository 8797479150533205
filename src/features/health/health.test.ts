import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, mock } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';
import { DatabaseUnavailable } from '../../kernel/data/db.ts';

const t = await startApp({ METRICS_TOKEN: 'scrape-me' });

describe('GET /health', () => {
  it('200 with status ok', async () => {
    const answer = await t.call('GET', '/health');
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.json, {
      status: 'ok',
      checks: { database: 'ok', redis: 'ok' },
      audit: { status: 'ok', oldestUnlinkedSeconds: 0 },
    });
  });
});

describe('probes', async () => {
  const limited = await startApp({ RATE_LIMIT_PER_MINUTE: '2', METRICS_TOKEN: 'scrape-me' });
  const readings = async () =>
    (await t.call('GET', '/metrics', { token: 'scrape-me' })).text.match(
      /^service_redis_command_duration_seconds_count\{command="(?!incr).*$/gm,
    );

  for (const url of ['/livez', '/readyz']) {
    it(`200 ${url}, also when the rate window of the address is used up`, async () => {
      for (let count = 0; count < 3; count += 1) await limited.call('GET', '/nowhere');
      assert.equal((await limited.call('GET', '/health')).status, 429);
      for (let count = 0; count < 5; count += 1) {
        const answer = await limited.call('GET', url);
        assert.deepEqual([answer.status, answer.json], [200, { status: 'ok' }]);
        assert.equal(answer.headers['x-ratelimit-limit'], '2');
      }
    });
    it(`200 ${url} reads no key-value store, and does not count`, async () => {
      const before = await readings();
      await t.call('GET', url);
      assert.deepEqual(await readings(), before);
    });
  }
  it('503 SERVICE_UNAVAILABLE at /readyz while the process stops; /livez and the API still answer', async () => {
    limited.app.drain();
    const answer = await limited.call('GET', '/readyz');
    assert.deepEqual([answer.status, answer.json.code], [503, 'SERVICE_UNAVAILABLE']);
    assert.deepEqual(answer.json.details, { reason: 'stopping' });
    assert.equal(answer.headers['retry-after'], '1');
    assert.equal((await limited.call('GET', '/livez')).status, 200);
    assert.equal(
      (await limited.call('GET', '/.well-known/jwks.json', { remoteAddress: '192.0.2.9' })).status,
      200,
    );
  });
});

describe('the log of refused probes', () => {
  const notReady = (logs: readonly string[]) =>
    logs.map((line) => JSON.parse(line)).filter(({ msg }) => /ready|request failed/.test(msg));

  it('has one line when the database becomes unavailable, and one when it is available again', async () => {
    const app = await startApp({ LOG_LEVEL: 'info' });
    const ping = mock.method(app.app.db, 'ping', () =>
      Promise.reject(new DatabaseUnavailable(new Error('connect ECONNREFUSED'))),
    );
    for (let count = 0; count < 10; count += 1)
      for (const url of ['/readyz', '/health']) assert.equal((await app.call('GET', url)).status, 503);
    assert.deepEqual(
      notReady(app.logs).map(({ level, reason, err }) => [level, reason, /ECONNREFUSED/.test(err.message)]),
      [[40, 'database', true]],
    );
    ping.mock.restore();
    for (let count = 0; count < 5; count += 1) assert.equal((await app.call('GET', '/readyz')).status, 200);
    assert.deepEqual(
      notReady(app.logs)
        .slice(1)
        .map(({ level, msg }) => [level, msg]),
      [[30, 'ready again: the database is available']],
    );
  });
  it('has one line while the process stops', async () => {
    const app = await startApp({ LOG_LEVEL: 'info' });
    app.app.drain();
    for (let count = 0; count < 20; count += 1) assert.equal((await app.call('GET', '/readyz')).status, 503);
    assert.deepEqual(
      notReady(app.logs).map(({ level, reason }) => [level, reason]),
      [[30, 'stopping']],
    );
  });
});

describe('GET /metrics', () => {
  const read = () => t.call('GET', '/metrics', { token: 'scrape-me' });

  it('401 UNAUTHORIZED without the METRICS_TOKEN that was set', async () => {
    assert.equal((await t.call('GET', '/metrics')).json.code, 'UNAUTHORIZED');
    assert.equal((await t.call('GET', '/metrics', { token: 'scrape-mee' })).status, 401);
  });
  it('200 with every metric of the spec under its type, as plain text', async () => {
    const answer = await read();
    assert.equal(answer.status, 200);
    assert.match(String(answer.headers['content-type']), /^text\/plain/);
    const { metrics } = JSON.parse(
      readFileSync(new URL('../../../test/fixtures/spec-words.json', import.meta.url), 'utf8'),
    );
    for (const [name, { type }] of Object.entries<{ type: string }>(metrics)) {
      assert.match(answer.text, new RegExp(`^# TYPE ${name} ${type}$`, 'm'));
    }
  });
  it('feeds requests, queries, key-value commands and the pool gauges', async () => {
    await t.call('GET', '/health');
    const { text } = await read();
    assert.match(
      text,
      /service_http_requests_total\{method="GET",route="\/health",status_code="200"\} [1-9]/,
    );
    assert.match(
      text,
      /service_http_request_duration_seconds_count\{method="GET",route="\/health",status_code="200"\} [1-9]/,
    );
    assert.match(text, /service_db_query_duration_seconds_count\{operation="ping"\} [1-9]/);
    assert.match(text, /service_redis_command_duration_seconds_count\{command="incr"\} [1-9]/);
    assert.match(text, /^service_db_pool_waiting_requests 0$/m);
    // Background queries may still run just after the start.
    await until(
      'no connection in use',
      async () => /^service_db_pool_active_connections 0$/m.test((await read()).text) || undefined,
    );
  });
  it('renders once for concurrent requests, after they arrived', async () => {
    const { metrics } = t.app;
    const text = metrics.text.bind(metrics);
    let written = 0;
    mock.method(metrics, 'text', () => {
      written += 1;
      return text();
    });
    const answers = await Promise.all(Array.from({ length: 50 }, read));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.ok(written >= 1 && written <= 3, `written ${written} times`);
  });
});
