/** How workers are notified of new deliveries. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startWebhookApp } from '../../../../test/support/scenarios/webhooks.ts';
import { createLog } from '../../../kernel/observability/log.ts';
import type { Envelope } from '../../../kernel/ports/envelope.ts';
import { createNotifier, type NewDeliveries } from './notifier.ts';
import { createThrottle } from './throttle.ts';

const t = await startWebhookApp();

/** A monotonic clock that moves only by `pause` and `advance`. */
function createManualTime() {
  let now = 1_000;
  const pauses: number[] = [];
  return {
    pauses,
    advance(milliseconds: number) {
      now += milliseconds;
    },
    elapsed: () => now,
    async pause(milliseconds: number) {
      pauses.push(milliseconds);
      now += milliseconds;
    },
  };
}

const envelope = (organizationId: string, type = 'agent.created'): Envelope => ({
  id: 'e',
  type,
  organizationId,
  timestamp: '',
  data: { agentId: 'a' },
});

describe('a throttle', () => {
  it('lets the first call pass at once and delays the next until the interval since the last one is over', async () => {
    const time = createManualTime();
    const throttle = createThrottle(time, 50);
    await throttle();
    assert.deepEqual(time.pauses, []);
    time.advance(20);
    await throttle();
    assert.deepEqual(time.pauses, [30]);
    time.advance(50);
    await throttle();
    assert.deepEqual(time.pauses, [30]);
  });
});

describe('the notifier', () => {
  /** The test opens the throttle. */
  const start = (notify: (batch: NewDeliveries) => Promise<unknown>) => {
    let open = () => {};
    const throttle = () => new Promise<void>((resolve) => (open = resolve));
    const notifyWorkers = createNotifier({ log: createLog({ level: 'silent' }), notify, throttle });
    const openThrottle = async () => {
      open();
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { notifyWorkers, openThrottle };
  };

  it('sends one notification for all events that arrive before the throttle opens, and none without events', async () => {
    const sent: [string[], string[]][] = [];
    const { notifyWorkers, openThrottle } = start(async ({ organizationIds, types }) =>
      sent.push([[...organizationIds], [...types]]),
    );
    for (let count = 0; count < 100; count += 1) notifyWorkers([envelope('a'), envelope('b')]);
    assert.deepEqual(sent, []);
    await openThrottle();
    notifyWorkers([envelope('c', 'token.issued')]);
    assert.deepEqual(sent, [[['a', 'b'], ['agent.created']]]);
    await openThrottle();
    await openThrottle();
    assert.deepEqual(sent.slice(1), [[['c'], ['token.issued']]]);
  });

  it('continues after a failure', async () => {
    let calls = 0;
    const { notifyWorkers, openThrottle } = start(async () => {
      calls += 1;
      throw new Error('cannot use the database');
    });
    for (const expected of [1, 2]) {
      notifyWorkers([envelope('a')]);
      await openThrottle();
      assert.equal(calls, expected);
    }
  });
});

describe('an event', () => {
  it('with a matching subscription is notified after its commit, any other is not', async () => {
    const listener = new pg.Client({ connectionString: t.databaseUrl });
    await listener.connect();
    after(() => listener.end());
    const heard: string[] = [];
    const waiting: (() => void)[] = [];
    listener.on('notification', ({ channel, payload = '' }) => {
      heard.push(channel === 'webhook_deliveries' ? 'deliveries' : payload);
      waiting.shift()?.();
    });
    await listener.query('listen webhook_deliveries');
    await listener.query('listen mark');
    const next = () => new Promise<void>((resolve) => waiting.push(resolve));

    const countNotifications = async () => {
      const { text } = await t.call('GET', '/metrics');
      const line =
        /^service_db_query_duration_seconds_count\{operation="webhooks.notifyIfSubscribed"\} (\d+)$/m;
      return Number(line.exec(text)?.[1] ?? 0);
    };
    const happen = async () => {
      const before = await countNotifications();
      await t.raiseEvent();
      while ((await countNotifications()) === before) await sleep(5);
    };

    await happen();
    const marked = next();
    await t.sql("select pg_notify('mark', 'no subscription matches')");
    await marked;
    assert.deepEqual(heard, ['no subscription matches']);

    const { id } = await t.subscribe('https://receiver.invalid/');
    const notified = next();
    await t.raiseEvent();
    await notified;
    assert.deepEqual(heard.slice(1), ['deliveries']);
    assert.equal((await t.deliveries(id)).length, 1);
  });
});
