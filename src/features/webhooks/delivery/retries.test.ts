/** Failing endpoints: retries, dead letters, timeouts, private addresses; and workers that compete or freeze. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { environment } from '../../../../test/support/harness.ts';
import { startReceiver } from '../../../../test/support/peers/receivers.ts';
import { until } from '../../../../test/support/programs.ts';
import { api, startWebhookApp } from '../../../../test/support/scenarios/webhooks.ts';
import { createOutbound } from '../../../adapters/outbound/outbound.ts';
import { createApp } from '../../../app.ts';
import { loadConfig } from '../../../kernel/config/config.ts';
import { createLog } from '../../../kernel/observability/log.ts';
import { nextAttemptAt, retryDelays } from './retry-schedule.ts';

const t = await startWebhookApp();
const minute = 60_000;
const hour = 60 * minute;

const deadLetters = async () => {
  const { text } = await t.call('GET', '/metrics');
  return Number(
    /^service_webhook_dead_letters_total\{event_type="agent.created"\} (\d+)$/m.exec(text)?.[1] ?? 0,
  );
};

describe('the retry schedule', () => {
  it('is that of the spec, and ends with the maximum of attempts', () => {
    const minutes = [1, 5, 15, 60, 240, 720, 1_440, 2_880, 4_320];
    assert.deepEqual(
      retryDelays.map((delay) => delay / minute),
      minutes,
    );
    assert.equal(nextAttemptAt(1, 1_000, 10), 61_000);
    assert.equal(nextAttemptAt(9, 0, 10), 72 * hour);
    assert.equal(nextAttemptAt(10, 0, 10), undefined);
    assert.equal(nextAttemptAt(3, 0, 3), undefined);
  });

  it('of an endpoint that is down for a week: each delay counts from the failure; then one dead letter, counted once', async () => {
    const receiver = await startReceiver((_request, response) => void response.writeHead(503).end('down'));
    const { id } = await t.subscribe(receiver.url);
    const before = await deadLetters();
    await t.raiseEvent();
    await t.drain();
    for (let attempt = 1; attempt < 10; attempt += 1) {
      const [delivery] = await t.deliveries(id);
      assert.ok(delivery);
      const { status, http_status_code, attempt_count, next_retry_at, delivered_at, updated_at } = delivery;
      assert.deepEqual(
        [status, http_status_code, attempt_count, delivered_at],
        ['failed', 503, attempt, null],
      );
      assert.equal(Date.parse(next_retry_at ?? '') - Date.parse(updated_at), retryDelays[attempt - 1]);
      // Half a minute early, minus the time that the test itself has taken.
      t.clock.advance((retryDelays[attempt - 1] ?? 0) - 30_000 - (t.clock.now() - Date.parse(updated_at)));
      await t.drain();
      assert.equal(receiver.received.length, attempt, 'too early');
      t.clock.advance(30_000);
      await t.drain();
      assert.equal(receiver.received.length, attempt + 1);
    }
    const [deadLetter] = await t.deliveries(id);
    assert.deepEqual(
      [deadLetter?.status, deadLetter?.attempt_count, deadLetter?.next_retry_at, deadLetter?.attempts.length],
      ['dead_letter', 10, null, 10],
    );
    assert.equal(new Set(receiver.received.map(({ headers }) => headers['x-service-delivery-id'])).size, 1);
    assert.equal(new Set(receiver.received.map(({ body }) => body)).size, 1);
    const times = receiver.received.map(({ headers }) => Number(headers['x-service-timestamp']));
    const gaps = times.slice(1).map((time, index) => Math.round((time - (times[index] ?? 0)) / 60));
    assert.deepEqual(gaps, [1, 5, 15, 60, 240, 720, 1_440, 2_880, 4_320]);
    assert.equal(await deadLetters(), before + 1);
    t.clock.advance(30 * 24 * hour);
    await t.drain();
    assert.deepEqual([receiver.received.length, await deadLetters()], [10, before + 1]);
    const failures = await t.sql(
      'select failure_count from webhook_subscriptions where subscription_id = $1',
      [id],
    );
    assert.deepEqual(failures, [{ failure_count: 10 }]);
    await t.app.prepare();
    await t.app.deliveries.purge();
    assert.deepEqual([(await t.deliveries(id)).length, await deadLetters()], [0, before + 1]);
  });

  it('WEBHOOK_MAX_RETRIES counts attempts', async () => {
    const few = await startWebhookApp({ WEBHOOK_MAX_RETRIES: '2' });
    const receiver = await startReceiver((_request, response) => void response.writeHead(500).end());
    const { id } = await few.subscribe(receiver.url);
    await few.raiseEvent();
    await few.drain();
    few.clock.advance(minute + 1_000);
    await few.drain();
    const [delivery] = await few.deliveries(id);
    assert.deepEqual(
      [delivery?.status, delivery?.attempt_count, receiver.received.length],
      ['dead_letter', 2, 2],
    );
  });
});

describe('only 2xx is success', () => {
  const cases: [number, string][] = [
    [200, 'delivered'],
    [201, 'delivered'],
    [299, 'delivered'],
    [301, 'failed'],
    [302, 'failed'],
    [307, 'failed'],
    [400, 'failed'],
    [410, 'failed'],
    [500, 'failed'],
  ];
  it('and a redirect is not followed', async () => {
    const target = await startReceiver();
    let status = 200;
    const receiver = await startReceiver(
      (_request, response) => void response.writeHead(status, { location: target.url }).end(),
    );
    const { id } = await t.subscribe(receiver.url, ['token.revoked']);
    for (const [code, expected] of cases) {
      status = code;
      await t.call('POST', `${api}/${id}/test`, { token: await t.token() });
      await t.drain();
      const [delivery] = await t.deliveries(id);
      assert.deepEqual([delivery?.http_status_code, delivery?.status], [code, expected]);
      t.clock.advance(1_000);
    }
    assert.equal(target.connections(), 0);
  });

  it('failure_count counts failures since the last success, and is reset by a new URL', async () => {
    let up = false;
    const receiver = await startReceiver(
      (_request, response) => void response.writeHead(up ? 200 : 500).end(),
    );
    const { id } = await t.subscribe(receiver.url);
    const count = async () =>
      (await t.call('GET', `${api}/${id}`, { token: await t.token() })).json.failure_count;
    for (let failed = 1; failed <= 3; failed += 1) {
      await t.raiseEvent();
      await t.drain();
      assert.equal(await count(), failed);
    }
    up = true;
    await t.raiseEvent();
    await t.drain();
    assert.equal(await count(), 0);
    up = false;
    await t.raiseEvent();
    await t.drain();
    assert.equal(await count(), 1);
    const payload = { url: `${receiver.url}/other` };
    await t.call('PATCH', `${api}/${id}`, { token: await t.token(), payload });
    assert.equal(await count(), 0);
  });
});

describe('an endpoint that', () => {
  const problemWith = async (url: string, by = t) => {
    const { id } = await by.subscribe(url, ['token.revoked']);
    await by.call('POST', `${api}/${id}/test`, { token: await by.token() });
    await by.drain();
    const [delivery] = await by.deliveries(id);
    return {
      status: delivery?.status,
      error: delivery?.attempts[0]?.error,
      code: delivery?.http_status_code,
    };
  };

  it('drips its response is cut off at the timeout', async () => {
    const hasty = await startWebhookApp({ WEBHOOK_DELIVERY_TIMEOUT_MS: '5000' });
    let closed = false;
    const receiver = await startReceiver((_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'), 100);
      response.on('close', () => {
        closed = true;
        clearInterval(timer);
      });
    });
    const { status, error, code } = await problemWith(receiver.url, hasty);
    assert.deepEqual([status, code], ['failed', null]);
    assert.match(error ?? '', /did not answer in full within 5000 ms/);
    await until('it is closed', async () => closed || undefined);
  });

  it('sends a gigabyte is cut at 64 KB; its status counts', async () => {
    let sent = 0;
    let closed = false;
    const receiver = await startReceiver((_request, response) => {
      const chunk = Buffer.alloc(65_536);
      const more = () => {
        while (!response.destroyed && sent < 1_000_000_000) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', more);
        }
      };
      response.on('close', () => (closed = true));
      more();
    });
    const { status, code } = await problemWith(receiver.url);
    assert.deepEqual([status, code], ['delivered', 200]);
    await until('it is closed', async () => closed || undefined);
    assert.ok(sent < 50_000_000, `${sent}`);
  });

  it('refuses connections, has no TLS, or does not resolve: failed, with the reason', async () => {
    const closed = await startReceiver();
    await closed.close();
    const plain = await startReceiver(undefined, { tls: false });
    for (const url of [closed.url, plain.url.replace('http:', 'https:'), 'https://no-such-name.invalid/']) {
      const { status, error } = await problemWith(url);
      assert.equal(status, 'failed', url);
      assert.ok(error, url);
    }
    assert.equal(plain.received.length, 0);
  });
});

describe('private targets', () => {
  it('are blocked at delivery: no connection, and a failed attempt with the reason', async () => {
    const strict = await startWebhookApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'false' });
    const receiver = await startReceiver();
    const spellings = ['127.0.0.1', '2130706433', '0x7f.1', 'localhost', '[::ffff:127.0.0.1]'];
    for (const host of spellings) {
      const { id } = await strict.subscribe(`https://${host}:${receiver.port}/`, ['token.revoked']);
      await strict.call('POST', `${api}/${id}/test`, { token: strict.bearer });
      await strict.drain();
      const [delivery] = await strict.deliveries(id);
      assert.equal(delivery?.status, 'failed', host);
      assert.match(delivery?.attempts[0]?.error ?? '', /not on the public internet/);
    }
    assert.equal(receiver.connections(), 0);
  });

  it('behind a name: message and duration of the attempt are those of a name that does not exist; only the log differs', async () => {
    const inside = 'db.corp.example';
    let endTime: (() => void) | undefined;
    const outbound = createOutbound({
      allowPrivate: false,
      resolve: async (name) => (name === inside ? ['10.0.0.7'] : []),
      delay: () => new Promise<void>((resolve) => (endTime = resolve)),
    });
    const lines: string[] = [];
    const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } });
    const strict = await startWebhookApp();
    const config = loadConfig(environment(strict.databaseUrl, { WEBHOOK_MAX_RETRIES: '1' }));
    const worker = await createApp({ config, log, clock: strict.clock, outbound });
    after(() => worker.close());
    for (const [host, logged] of [
      [inside, /"reason":"db.corp.example is not on the public internet"/],
      ['no.corp.example', /"reason":"no.corp.example has no address"/],
    ] as const) {
      const { id } = await strict.subscribe(`https://${host}:8443/`);
      await strict.insertDeliveries(id, 1);
      const drained = worker.deliveries.drain();
      const end = await until('the name is looked up', async () => endTime);
      endTime = undefined;
      // The lookup has failed, and the attempt does not end before the lookup timeout.
      assert.deepEqual((await strict.deliveries(id))[0]?.attempts, []);
      end();
      await drained;
      const [delivery] = await strict.deliveries(id);
      assert.equal(delivery?.status, 'dead_letter');
      assert.equal(delivery?.attempts[0]?.error, `${host} does not resolve to a public address`);
      assert.match(lines.at(-1) ?? '', logged);
    }
  });
});

describe('workers', () => {
  it('two on the same rows send each delivery once', async () => {
    const receiver = await startReceiver(async (_request, response) => {
      await sleep(2);
      response.writeHead(204).end();
    });
    const { id } = await t.subscribe(receiver.url, ['token.revoked']);
    await t.insertDeliveries(id, 300);
    const other = await t.anotherWorker();
    await Promise.all([t.drain(), other.deliveries.drain()]);
    const ids = receiver.received.map(({ headers }) => headers['x-service-delivery-id']);
    assert.deepEqual([ids.length, new Set(ids).size], [300, 300]);
  });

  it('one that freezes and resumes after its lease has expired is fenced off', async () => {
    let answerFirst: (() => void) | undefined;
    let calls = 0;
    const receiver = await startReceiver(async (_request, response) => {
      calls += 1;
      if (calls === 1) await new Promise<void>((resolve) => (answerFirst = resolve));
      response.writeHead(calls === 1 ? 500 : 200).end();
    });
    const { id } = await t.subscribe(receiver.url);
    await t.raiseEvent();
    const other = await t.anotherWorker();
    const frozen = t.drain();
    const answer = await until('the first request', async () => answerFirst);
    t.clock.advance(60_000);
    await other.deliveries.drain();
    const recorded = await t.deliveries(id);
    assert.deepEqual(
      recorded.map(({ status, attempt_count }) => [status, attempt_count]),
      [['delivered', 1]],
    );
    answer();
    await frozen;
    assert.deepEqual(await t.deliveries(id), recorded);
    const ids = receiver.received.map(({ headers }) => headers['x-service-delivery-id']);
    assert.deepEqual([ids.length, new Set(ids).size], [2, 1]);
  });

  it('are not delayed by an unresponsive endpoint with 1,000 events, nor by thirty of them', async () => {
    const hanging = () => {};
    const unresponsive = await startReceiver(hanging, { keep: false });
    const subscriptions = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        t.subscribe(`${unresponsive.url}/${index}`, ['token.revoked']),
      ),
    );
    await t.insertDeliveries(subscriptions[0]?.id ?? '', 1_000);
    for (const { id } of subscriptions.slice(1)) await t.insertDeliveries(id, 20);
    const alive = await startReceiver();
    const { id } = await t.subscribe(alive.url);
    const worker = await t.anotherWorker({ WEBHOOK_DELIVERY_TIMEOUT_MS: '5000' });
    worker.loops.start();
    await until('a hundred connections', async () => unresponsive.connections() >= 100 || undefined);
    for (let count = 0; count < 20; count += 1) await t.raiseEvent();
    await until('all are delivered', async () => {
      const delivered = (await t.deliveries(id)).filter(({ status }) => status === 'delivered');
      return delivered.length === 20 || undefined;
    });
    assert.equal(alive.received.length, 20);
    const [waiting] = await t.sql<{ n: number }>(
      'select count(*)::int as n from webhook_deliveries where subscription_id = $1 and attempt_count = 0',
      [subscriptions[0]?.id],
    );
    assert.ok((waiting?.n ?? 0) > 900, `${waiting?.n} of 1,000 are still waiting`);
    // Otherwise stopping would wait for the timeouts of its requests.
    await unresponsive.close();
    await worker.loops.stop();
  });
});
