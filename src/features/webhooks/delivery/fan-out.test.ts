/** From the commit of an event to its deliveries. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import pg from 'pg';
import { newAgent } from '../../../../test/support/harness.ts';
import { startReceiver } from '../../../../test/support/peers/receivers.ts';
import { until } from '../../../../test/support/programs.ts';
import { createReadOnlyRole, holdOpen } from '../../../../test/support/scenarios/audit-log.ts';
import { createTenant } from '../../../../test/support/scenarios/plans.ts';
import { api, startWebhookApp } from '../../../../test/support/scenarios/webhooks.ts';
import { createLog } from '../../../kernel/observability/log.ts';
import { createFanOut } from './fan-out.ts';
import { fanOut } from './outbox-store.ts';

const t = await startWebhookApp();
const reader = await createReadOnlyRole(t);

const connect = async () => {
  const client = new pg.Client({ connectionString: t.databaseUrl });
  // A test ends its session.
  client.on('error', () => {});
  await client.connect();
  after(() => client.end().catch(() => {}));
  return client;
};

/** No process makes deliveries during the work, as if each had been killed after its commit. */
async function withoutFanOut<T>(work: () => Promise<T>): Promise<T> {
  const client = await connect();
  await client.query('begin');
  await client.query('select from schema_migrations where version = 38 for update');
  try {
    return await work();
  } finally {
    await client.query('rollback');
  }
}

const count = async (table: string, eventType = 'agent.created') => {
  const rows = await t.sql<{ n: number }>(`select count(*)::int as n from ${table} where event_type = $1`, [
    eventType,
  ]);
  return rows[0]?.n ?? 0;
};

const deleteAll = async () => {
  await t.sql("delete from webhook_subscriptions where name <> 'Older'");
  await t.sql('delete from webhook_deliveries');
};

describe('the commit of an event', () => {
  it('writes one row, however many subscriptions match, and none when none matches', async () => {
    await t.raiseEvent();
    assert.equal(await count('webhook_outbox'), 0);
    const receivers = await Promise.all(Array.from({ length: 3 }, () => startReceiver()));
    for (const { url } of receivers) await t.subscribe(url);
    await t.subscribe('https://receiver.invalid/', ['agent.updated']);
    await withoutFanOut(async () => {
      await t.raiseEvent();
      assert.deepEqual([await count('webhook_outbox'), await count('webhook_deliveries')], [1, 0]);
    });
    await t.app.deliveries.fanOut();
    assert.deepEqual([await count('webhook_outbox'), await count('webhook_deliveries')], [0, 3]);
    await t.drain();
    assert.deepEqual(
      receivers.map(({ received }) => received.length),
      [1, 1, 1],
    );
    await deleteAll();
  });

  it('decides which subscriptions get it: later ones do not, one that is paused later does, a deleted one does not', async () => {
    const [before, paused, deleted] = await Promise.all(
      [1, 2, 3].map(() => t.subscribe('https://receiver.invalid/')),
    );
    const later = await withoutFanOut(async () => {
      await t.raiseEvent();
      const pause = { token: t.bearer, payload: { active: false } };
      assert.equal((await t.call('PATCH', `${api}/${paused?.id}`, pause)).status, 200);
      assert.equal((await t.call('DELETE', `${api}/${deleted?.id}`, { token: t.bearer })).status, 204);
      return t.subscribe('https://receiver.invalid/');
    });
    const made = await Promise.all([before, paused, later].map((each) => t.deliveries(each?.id ?? '')));
    assert.deepEqual(
      made.map(({ length }) => length),
      [1, 1, 0],
    );
    assert.equal(await count('webhook_deliveries'), 2);
    await deleteAll();
  });

  it('is followed by its deliveries and a notification of the workers, without a loop', async () => {
    const listener = await connect();
    let notified: true | undefined;
    listener.once('notification', () => {
      notified = true;
    });
    await listener.query('listen webhook_deliveries');
    await t.subscribe('https://receiver.invalid/');
    await t.raiseEvent();
    await until('the notification', async () => notified);
    assert.equal(await count('webhook_deliveries'), 1);
    await deleteAll();
  });
});

describe('a process that is killed', () => {
  it('between the commit and the fan-out loses nothing: another process makes each delivery once', async () => {
    const receiver = await startReceiver();
    const { id } = await t.subscribe(receiver.url);
    const killed = await t.anotherWorker();
    await withoutFanOut(async () => {
      const headers = { authorization: `Bearer ${t.bearer}` };
      for (let event = 0; event < 5; event += 1) {
        const request = { method: 'POST', url: '/api/v1/agents', headers, payload: newAgent() } as const;
        assert.equal((await killed.http.server.inject(request)).statusCode, 201);
      }
      // Without its connections it makes no deliveries.
      await killed.close();
    });
    const other = await t.anotherWorker();
    await Promise.all([other.deliveries.drain(), t.drain()]);
    assert.equal(receiver.received.length, 5);
    const made = await t.deliveries(id);
    assert.deepEqual([made.length, receiver.received.length], [5, 5]);
    assert.equal(new Set(made.map(({ payload }) => payload.id)).size, 5);
    await deleteAll();
  });

  it('during the fan-out leaves the whole event to the next pass, which makes each delivery once', async () => {
    const subscriptions = await Promise.all([1, 2, 3].map(() => t.subscribe('https://receiver.invalid/')));
    const blocking = await connect();
    await withoutFanOut(async () => {
      await t.raiseEvent();
      await blocking.query('begin; lock table webhook_deliveries in share mode');
    });
    await until('the kill', async () => {
      const rows = await t.sql<{ killed: boolean }>(
        `select pg_terminate_backend(pid) as killed from pg_stat_activity
         where query like '%with recursive lock as%' and wait_event_type = 'Lock' and datname = current_database()`,
      );
      return rows[0]?.killed || undefined;
    });
    await blocking.query('rollback');
    assert.deepEqual([await count('webhook_outbox'), await count('webhook_deliveries')], [1, 0]);
    await Promise.all([t.app.deliveries.fanOut(), t.app.deliveries.fanOut()]);
    for (const { id } of subscriptions) assert.equal((await t.deliveries(id)).length, 1);
    await deleteAll();
  });

  it('is found by the loop of any process, also one that leaves background work to a worker', async () => {
    const { id } = await t.subscribe('https://receiver.invalid/');
    await t.sql(
      `insert into webhook_outbox (organization_id, event_id, event_type, payload, subscription_ids, occurred_at)
       values ($1, gen_random_uuid(), 'agent.created', '{}', array[$2::uuid], now())`,
      [t.operator.organizationId, id],
    );
    const other = await t.anotherWorker();
    other.loops.start('inEveryProcess');
    await until('the delivery', async () => ((await count('webhook_deliveries')) === 1 ? true : undefined));
    await other.loops.stop();
    assert.equal((await t.deliveries(id)).length, 1);
    await deleteAll();
  });
});

describe('the fan-out', () => {
  it('takes turns: the event of one organization is not behind the 5,000 of another', async () => {
    const { organizationId, token } = await createTenant(t, { planTier: 'pro' });
    const subscribe = async (bearer: string) => {
      const payload = { name: 'Receiver', url: 'https://receiver.invalid/', events: ['credential.revoked'] };
      return (await t.call('POST', api, { token: bearer, payload })).json.id as string;
    };
    const [busy, quiet] = [await subscribe(t.bearer), await subscribe(token)];
    // More deliveries than a pass makes, though a pass reads only a share of the events.
    const alsoBusy = await Promise.all([1, 2, 3, 4].map(() => subscribe(t.bearer)));
    const append = (organization: string, subscriptions: string[], events: number) =>
      t.sql(
        `insert into webhook_outbox (organization_id, event_id, event_type, payload, subscription_ids, occurred_at)
         select $1, gen_random_uuid(), 'credential.revoked', '{}', $2::uuid[], $4::timestamptz + number * interval '1 ms'
         from generate_series(1, $3::int) as number`,
        [organization, subscriptions, events, new Date(t.clock.now()).toISOString()],
      );
    const made = async (subscription: string) => {
      const rows = await t.sql<{ n: number }>(
        'select count(*)::int as n from webhook_deliveries where subscription_id = $1',
        [subscription],
      );
      return rows[0]?.n ?? 0;
    };
    await withoutFanOut(async () => {
      await append(t.operator.organizationId, [busy, ...alsoBusy], 5_000);
      await append(organizationId, [quiet], 1);
    });
    // A pass that began before may still have the lock.
    const { hasMore } = await until('a pass', async () => {
      const pass = await fanOut(t.app.db);
      return pass.isLocked ? pass : undefined;
    });
    assert.ok(hasMore);
    assert.equal(await made(quiet), 1);
    const first = await made(busy);
    assert.ok(first > 0 && first < 5_000, `${first} in the first pass`);
    const inOrder = await t.sql<{ last: string; next: string }>(
      `select (select max(created_at) from webhook_deliveries where subscription_id = $1) as last,
              (select min(occurred_at) from webhook_outbox) as next`,
      [busy],
    );
    assert.ok((inOrder[0]?.last ?? '') < (inOrder[0]?.next ?? ''), 'the oldest first');
    await t.app.deliveries.fanOut();
    assert.equal(await made(busy), 5_000);
    await deleteAll();
  });

  it('is not stopped by a role that may only connect and read', async () => {
    const version = 'from schema_migrations where version = 38';
    await assert.rejects(holdOpen(reader, `select ${version} for key share`), /permission denied/);
    for (const statement of ['select pg_advisory_xact_lock(7263544013)', `select name ${version}`]) {
      const { id } = await t.subscribe('https://receiver.invalid/');
      const holder = await holdOpen(reader, statement);
      await t.raiseEvent();
      await until('the delivery', async () => (await count('webhook_deliveries')) === 1 || undefined);
      assert.equal((await t.deliveries(id)).length, 1, statement);
      await holder.release();
      await deleteAll();
    }
  });

  it('tries less and less often while another session has the lock, at most every 1.6 s', async () => {
    let now = 0;
    const pauses: number[] = [];
    const released = Promise.withResolvers<void>();
    const waiting = createFanOut({
      db: t.app.db,
      log: createLog({ level: 'fatal' }),
      pace: (portion) => portion(),
      elapsed: () => now,
      async pause(milliseconds) {
        pauses.push(milliseconds);
        now += milliseconds;
        if (pauses.length === 8) await released.promise;
      },
    });
    const drained = await withoutFanOut(async () => {
      const draining = waiting.drain();
      await until('eight pauses', async () => pauses.length >= 8 || undefined, undefined, 20_000);
      return { draining };
    });
    released.resolve();
    await drained.draining;
    assert.deepEqual(pauses, [50, 100, 200, 400, 800, 1_600, 1_600, 1_600]);
  });

  it('shows in /metrics how long the oldest event waits', async () => {
    await t.subscribe('https://receiver.invalid/');
    await withoutFanOut(async () => {
      await t.raiseEvent();
      t.clock.advance(120_000);
      const { text } = await t.call('GET', '/metrics');
      const [, seconds] = /^service_webhook_oldest_due_seconds (\S+)$/m.exec(text) ?? [];
      assert.ok(Number(seconds) >= 120, `${seconds} s`);
    });
    await t.app.deliveries.fanOut();
    await deleteAll();
  });
});
