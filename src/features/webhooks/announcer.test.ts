/** How workers hear that something was put down. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startDelivering } from '../../../test/support/peers/subscribers.ts';
import { createLog } from '../../kernel/observability/log.ts';
import type { Envelope } from '../../kernel/ports/envelope.ts';
import { createAnnouncer, type News } from './announcer.ts';
import { createPace } from './pace.ts';

const t = await startDelivering();

/** A clock that moves only when somebody pauses. */
function createStandingTime() {
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

describe('a pace', () => {
  it('lets the first go at once, the next when its time has come, and counts from the one before', async () => {
    const time = createStandingTime();
    const turn = createPace(time, 50);
    await turn();
    assert.deepEqual(time.pauses, []);
    time.advance(20);
    await turn();
    assert.deepEqual(time.pauses, [30]);
    time.advance(50);
    await turn();
    assert.deepEqual(time.pauses, [30]);
  });
});

describe('an announcer', () => {
  /** Turns come when the test says so. */
  const start = (announce: (news: News) => Promise<unknown>) => {
    let grant = () => {};
    const turn = () => new Promise<void>((resolve) => (grant = resolve));
    const announceSoon = createAnnouncer({ log: createLog({ level: 'silent' }), announce, turn });
    const nextTurn = async () => {
      grant();
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { announceSoon, nextTurn };
  };

  it('says together what happened until its turn, and then nothing more', async () => {
    const said: [string[], string[]][] = [];
    const { announceSoon, nextTurn } = start(async ({ organizationIds, types }) =>
      said.push([[...organizationIds], [...types]]),
    );
    for (let count = 0; count < 100; count += 1) announceSoon([envelope('a'), envelope('b')]);
    assert.deepEqual(said, []);
    await nextTurn();
    announceSoon([envelope('c', 'token.issued')]);
    assert.deepEqual(said, [[['a', 'b'], ['agent.created']]]);
    await nextTurn();
    await nextTurn();
    assert.deepEqual(said.slice(1), [[['c'], ['token.issued']]]);
  });

  it('goes on after a failure', async () => {
    let asked = 0;
    const { announceSoon, nextTurn } = start(async () => {
      asked += 1;
      throw new Error('cannot use the database');
    });
    for (const expected of [1, 2]) {
      announceSoon([envelope('a')]);
      await nextTurn();
      assert.equal(asked, expected);
    }
  });
});

describe('an event', () => {
  it('that somebody wants is announced once it is committed, any other not', async () => {
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

    const announced = async () => {
      const { text } = await t.call('GET', '/metrics');
      const line = /^service_db_query_duration_seconds_count\{operation="webhooks.announce"\} (\d+)$/m;
      return Number(line.exec(text)?.[1] ?? 0);
    };
    const happen = async () => {
      const before = await announced();
      await t.happen();
      while ((await announced()) === before) await sleep(5);
    };

    await happen();
    const marked = next();
    await t.sql("select pg_notify('mark', 'nobody wants it')");
    await marked;
    assert.deepEqual(heard, ['nobody wants it']);

    const { id } = await t.subscribe('https://receiver.invalid/');
    const told = next();
    await t.happen();
    await told;
    assert.deepEqual(heard.slice(1), ['deliveries']);
    assert.equal((await t.deliveries(id)).length, 1);
  });
});
