/** The metrics for dashboards and alerts: each shows its condition. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { skipWithout, startApp, type TestApp } from '../../../test/support/harness.ts';
import { startReceiver } from '../../../test/support/peers/receivers.ts';
import { freePort, startRedis, until } from '../../../test/support/programs.ts';
import { startWebhookApp } from '../../../test/support/scenarios/webhooks.ts';
import { raw, sql } from '../../kernel/data/sql.ts';

const t = await startWebhookApp();

/** The value of one series; undefined when it is not exposed. */
async function read(app: Pick<TestApp, 'call'>, series: string): Promise<number | undefined> {
  const { text } = await app.call('GET', '/metrics');
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
const value = async (series: string) => (await read(t, series)) ?? 0;

/** Figures of the database keep their last value while a scrape is slow, so they are asked for until they are right. */
const untilValue = (series: string, isRight: (value: number) => boolean) =>
  until(`the right value of ${series}`, async () => isRight(await value(series)) || undefined);

/** The change of a series during some work. */
async function increase(series: string, work: () => Promise<unknown>): Promise<number> {
  const before = await value(series);
  await work();
  return (await value(series)) - before;
}

describe('requests', () => {
  it('counts refusals by the code of the API and of OAuth', async () => {
    const unknownAgent = () =>
      t.call('GET', '/api/v1/agents/00000000-0000-4000-8000-000000000000', { token: t.bearer });
    assert.equal(await increase('service_refusals_total{code="AGENT_NOT_FOUND"}', unknownAgent), 1);
    const wrongSecret = () =>
      t.askToken({
        grant_type: 'client_credentials',
        client_id: t.operator.clientId,
        client_secret: 'cs_wrong',
      });
    assert.equal(await increase('service_refusals_total{code="invalid_client"}', wrongSecret), 1);
  });

  it('counts hits and misses of the caches', async () => {
    const lookups = (cache: string, result: string) =>
      `service_cache_lookups_total{cache="${cache}",result="${result}"}`;
    const { clientId, clientSecret } = await t.agent();
    const token = () => t.token(undefined, { clientId, clientSecret });
    assert.equal(await increase(lookups('client_secrets', 'miss'), token), 1);
    assert.equal(await increase(lookups('client_secrets', 'hit'), token), 1);
    const bearer = await token();
    const readAgents = () => t.call('GET', '/api/v1/agents', { token: bearer });
    assert.equal(await increase(lookups('access_tokens', 'miss'), readAgents), 1);
    assert.equal(await increase(lookups('access_tokens', 'hit'), readAgents), 1);
    assert.ok((await increase(lookups('shared', 'hit'), readAgents)) >= 3);
    const verify = () => t.call('GET', '/api/v1/webhooks', { token: bearer });
    await verify();
    assert.equal(await increase(lookups('policy_decisions', 'miss'), verify), 0);
  });

  it('observes the size and the wait of each batch', async () => {
    const sum = 'service_batch_size_sum{batch="tokens.issue"}';
    const batches = 'service_batch_size_count{batch="tokens.issue"}';
    const waits = 'service_batch_wait_seconds_count{batch="tokens.issue"}';
    const before = { batches: await value(batches), waits: await value(waits) };
    assert.equal(
      await increase(sum, () => Promise.all(Array.from({ length: 20 }, () => t.token()))),
      20,
      'each request is in one batch',
    );
    const after = { batches: await value(batches), waits: await value(waits) };
    assert.ok(after.batches > before.batches);
    assert.ok(after.batches - before.batches < 20, 'concurrent requests share a batch');
    assert.equal(after.waits - before.waits, after.batches - before.batches);
    for (const queue of ['tokens.issue', 'writes', 'heavy_reads', 'long_reads', 'event_streams'])
      assert.equal(await read(t, `service_queue_depth{queue="${queue}"}`), 0, queue);
  });
});

describe('webhooks', () => {
  const oldestDue = 'service_webhook_oldest_due_seconds';

  it('shows for how long the oldest delivery has been due, unless its receiver fails', async () => {
    let status = 200;
    const receiver = await startReceiver((_request, response) => void response.writeHead(status).end());
    const { id } = await t.subscribe(receiver.url);
    await untilValue(oldestDue, (seconds) => seconds === 0);
    await t.insertDeliveries(id, 1);
    t.clock.advance(90_000);
    await untilValue(oldestDue, (seconds) => seconds >= 90 && seconds < 1_000);
    const delivered = 'service_webhook_attempts_total{outcome="delivered"}';
    assert.equal(await increase(delivered, t.drain), 1);
    await untilValue(oldestDue, (seconds) => seconds === 0);

    status = 503;
    await t.insertDeliveries(id, 1);
    assert.equal(await increase('service_webhook_attempts_total{outcome="failed"}', t.drain), 1);
    t.clock.advance(3_600_000);
    await untilValue('service_clock_skew_seconds', (seconds) => seconds > 3_600);
    assert.equal(await value(oldestDue), 0);
  });

  it('shows of how many organizations the newest attempt failed, for an hour', async () => {
    const failing = await startReceiver((_request, response) => void response.writeHead(503).end());
    const working = await startReceiver();
    const organizations = async () => [
      await value('service_webhook_organizations{outcome="delivered"}'),
      await value('service_webhook_organizations{outcome="failed"}'),
    ];
    const send = async (url: string) => {
      await t.insertDeliveries((await t.subscribe(url, ['agent.decommissioned'])).id, 3);
      await t.drain();
      return organizations();
    };
    // Deliveries that earlier tests left.
    await t.sql('update webhook_subscriptions set active = false');
    assert.deepEqual(await send(failing.url), [0, 1]);
    await t.sql('update webhook_subscriptions set active = false');
    assert.deepEqual(await send(working.url), [1, 0]);
    t.clock.advance(3_600_000);
    assert.deepEqual(await organizations(), [0, 0]);
  });
});

it('shows no due deliveries while webhooks are switched off', async () => {
  const app = await startApp({ WEBHOOKS_ENABLED: 'false' });
  assert.equal(await read(app, 'service_webhook_oldest_due_seconds'), undefined);
  // Figures of the same scrape are there.
  await until('a figure', async () => await read(app, 'service_signing_key_since_timestamp_seconds'));
  assert.equal(await read(app, 'service_webhook_oldest_due_seconds'), undefined);
});

describe('the process', () => {
  it('names its versions', async () => {
    const { version, node } = (await t.call('GET', '/api/v1/instance', { token: await t.token() })).json;
    assert.equal(await value(`service_build_info{version="${version}",node="${node}"}`), 1);
  });

  it('shows the difference of its clock from that of the database', async () => {
    const app = await startApp();
    const skew = async () => (await read(app, 'service_clock_skew_seconds')) ?? Number.NaN;
    await until('a small difference', async () => Math.abs(await skew()) < 1 || undefined);
    app.clock.advance(600_000);
    await until('ten minutes', async () => Math.abs((await skew()) - 600) < 1 || undefined);
  });

  it('shows since when its key signs', async () => {
    const [row] = await t.sql<{ at: Date }>('select min(taken_at) as at from audit_keys');
    const since = row?.at.getTime();
    await untilValue('service_signing_key_since_timestamp_seconds', (at) => Math.round(at * 1_000) === since);
  });

  it('shows whether it runs all background loops, and counts their rounds', async () => {
    const app = await startApp();
    assert.equal(await read(app, 'service_background_worker'), undefined);
    app.app.loops.start();
    assert.equal(await read(app, 'service_background_worker'), 1);
    const rounds = 'service_loop_rounds_total{loop="audit-sequencer",outcome="ok"}';
    await until('a round', async () => ((await read(app, rounds)) ?? 0) > 0 || undefined);
    const other = await startApp({}, app);
    other.app.loops.start('inEveryProcess');
    assert.equal(await read(other, 'service_background_worker'), 0);
  });

  it('shows the pool and the kinds of database errors', async () => {
    assert.equal(await value('service_db_pool_size'), 10);
    const failing = (statement: string) => () =>
      t.app.db.run('test.failing', sql`${raw(statement)}`).catch(() => {});
    for (const [kind, statement] of [
      ['other', 'select 1 / 0'],
      ['constraint', "do $$ begin raise sqlstate '23505'; end $$"],
      ['conflict', "do $$ begin raise sqlstate '40P01'; end $$"],
      ['timeout', "do $$ begin raise sqlstate '57014'; end $$"],
      ['read_only', "do $$ begin raise sqlstate '25006'; end $$"],
      ['resources', "do $$ begin raise sqlstate '53300'; end $$"],
      ['unavailable', "do $$ begin raise sqlstate '57P01'; end $$"],
    ] as const)
      assert.equal(await increase(`service_db_errors_total{kind="${kind}"}`, failing(statement)), 1, kind);
  });
});

describe('Redis', () => {
  it('shows no availability without Redis', async () => {
    assert.equal(await read(t, 'service_redis_available'), undefined);
  });

  it('shows whether Redis is available, and counts failed commands', async (test) => {
    const redis = await startRedis();
    if (!redis) return skipWithout(test, 'redis-server');
    const app = await startApp({ REDIS_URL: redis.url });
    await until(
      'Redis is available',
      async () => (await read(app, 'service_redis_available')) === 1 || undefined,
    );
    redis.program.kill('SIGKILL');
    await redis.program.ended();
    await until(
      'Redis is unavailable',
      async () => (await read(app, 'service_redis_available')) === 0 || undefined,
    );
    await app.token();
    assert.ok(((await read(app, 'service_redis_errors_total{command="incr"}')) ?? 0) > 0);
  });
});

describe('streams', () => {
  it('shows the number and the age of the events in the outbox while the broker is unavailable', async () => {
    const app = await startApp({ NATS_URL: `nats://127.0.0.1:${await freePort()}` });
    await app.token();
    app.clock.advance(120_000);
    app.app.loops.start('inEveryProcess');
    const pending = 'service_stream_outbox_pending{stream="nats"}';
    await until('an event', async () => ((await read(app, pending)) ?? 0) > 0 || undefined);
    const age = (await read(app, 'service_stream_outbox_oldest_seconds{stream="nats"}')) ?? 0;
    assert.ok(age >= 120 && age < 1_000, String(age));
    assert.equal(await read(app, 'service_event_streams_open'), 0);
  });
});
