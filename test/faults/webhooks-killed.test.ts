/** Kills the webhook worker at critical moments and under load: every delivery arrives, with its own id. */
import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { environment } from '../support/harness.ts';
import { authorityFile, startReceiver } from '../support/peers/receivers.ts';
import { freePort, type Program, startCountersign, until } from '../support/programs.ts';
import { repetitions } from '../support/repetitions.ts';
import { startWebhookApp, type WebhookApp } from '../support/scenarios/webhooks.ts';

const settings = { WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', WEBHOOK_DELIVERY_TIMEOUT_MS: '60000' };
const startWorker = (t: WebhookApp): Program =>
  startCountersign(['worker'], {
    ...environment(t.databaseUrl, settings),
    NODE_EXTRA_CA_CERTS: authorityFile,
  });

/** Expires every lease on a delivery. */
const expireLeases = (t: WebhookApp) =>
  t.sql("update webhook_deliveries set claimed_until = '2000-01-01' where claimed_until is not null");

const end = async (program: Program) => {
  program.kill('SIGKILL');
  await program.ended();
};

const deliveredOnce = (t: WebhookApp, id: string, program: Program) =>
  until(
    'the delivery',
    async () => {
      const [delivery] = await t.deliveries(id);
      return delivery?.status === 'delivered' ? delivery : undefined;
    },
    program,
  );

test('the next worker delivers after a kill between commit and sending', async () => {
  const t = await startWebhookApp(settings);
  // Accepts the connection and never answers: the worker holds the lease and cannot send.
  const sockets: Socket[] = [];
  const mute = createServer((socket) => void sockets.push(socket.on('error', () => {})));
  const port = await freePort();
  await new Promise<void>((resolve) => mute.listen(port, '127.0.0.1', resolve));
  const { id } = await t.subscribe(`https://127.0.0.1:${port}/`);
  await t.raiseEvent();
  const first = startWorker(t);
  await until('the connection', async () => sockets[0], first);
  await end(first);
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => mute.close(resolve));
  assert.deepEqual(
    (await t.deliveries(id)).map(({ attempt_count }) => attempt_count),
    [0],
  );

  const receiver = await startReceiver(undefined, { port });
  await expireLeases(t);
  const delivery = await deliveredOnce(t, id, startWorker(t));
  assert.deepEqual(
    receiver.received.map(({ headers }) => headers['x-service-delivery-id']),
    [delivery.id],
  );
});

test('the next worker delivers again with the same delivery id after a kill between sending and saving', async () => {
  const t = await startWebhookApp(settings);
  let killFirst: (() => void) | undefined;
  const receiver = await startReceiver(async (_request, response) => {
    if (receiver.received.length === 1) await new Promise<void>((resolve) => (killFirst = resolve));
    response.writeHead(204).end();
  });
  const { id } = await t.subscribe(receiver.url);
  await t.raiseEvent();
  const first = startWorker(t);
  await until('the first request', async () => killFirst, first);
  await end(first);
  killFirst?.();
  assert.deepEqual(
    (await t.deliveries(id)).map(({ status }) => status),
    ['pending'],
  );

  await expireLeases(t);
  const delivery = await deliveredOnce(t, id, startWorker(t));
  const ids = receiver.received.map(({ headers }) => headers['x-service-delivery-id']);
  assert.deepEqual(ids, [delivery.id, delivery.id]);
  assert.equal(receiver.received[0]?.body, receiver.received[1]?.body);
});

test('a stopping worker finishes deliveries in flight, releases the others, and exits with 0', async () => {
  const t = await startWebhookApp(settings);
  const receiver = await startReceiver(async (_request, response) => {
    await sleep(300);
    response.writeHead(204).end();
  });
  const { id } = await t.subscribe(receiver.url, ['token.revoked']);
  await t.insertDeliveries(id, 60);
  const worker = startWorker(t);
  await until('the first request', async () => receiver.received[0], worker);
  worker.kill('SIGTERM');
  assert.equal(await worker.gone(), 0);
  const rows = await t.sql<{ status: string; claimed: boolean; n: number }>(
    'select status, claim is not null as claimed, count(*)::int as n from webhook_deliveries group by 1, 2 order by 1',
  );
  const n = receiver.received.length;
  assert.deepEqual(rows, [
    { status: 'delivered', claimed: false, n },
    { status: 'pending', claimed: false, n: 60 - n },
  ]);
});

test('a replay of many deliveries continues after kills of the worker: all are sent, each with its own id', async () => {
  const t = await startWebhookApp(settings);
  const arrived = new Set<string>();
  const receiver = await startReceiver(
    ({ headers }, response) => {
      arrived.add(headers['x-service-delivery-id'] ?? '');
      response.writeHead(204).end();
    },
    { keep: false },
  );
  const { id } = await t.subscribe(receiver.url, ['token.revoked']);
  const total = 4_000;
  await t.insertDeliveries(id, total);
  await t.sql("update webhook_deliveries set status = 'dead_letter', due_at = null");
  const answer = await t.call('POST', `/api/v1/webhooks/${id}/deliveries/replay`, {
    token: t.bearer,
    payload: { since: new Date(t.clock.now() - 3_600_000).toISOString() },
  });
  assert.deepEqual([answer.status, answer.json], [202, { count: total }]);
  const open = async () => (await t.sql('select 1 from webhook_replays')).length;
  for (const goal of [1, 500]) {
    const worker = startWorker(t);
    await until('some deliveries', async () => (arrived.size >= goal ? true : undefined), worker, 300_000);
    await end(worker);
    await expireLeases(t);
    assert.equal(await open(), 1, 'killed in the middle');
  }
  const last = startWorker(t);
  await until('all deliveries', async () => (arrived.size === total ? true : undefined), last, 300_000);
  await until(
    'the end of the replay',
    async () => {
      const [row] = await t.sql<{ n: number }>(
        "select count(*)::int as n from webhook_deliveries where status = 'delivered'",
      );
      return row?.n === total && (await open()) === 0 ? true : undefined;
    },
    last,
    180_000,
  );
});

/** Larger with WEBHOOK_TEST_DELIVERIES=100000 WEBHOOK_TEST_KILLS=20. */
const deliveries = Number(process.env.WEBHOOK_TEST_DELIVERIES || repetitions(1_000, 2_500));
const kills = Number(process.env.WEBHOOK_TEST_KILLS || repetitions(2, 4));
const receivers = 20;
/** Long enough for larger runs. */
const timeout = 3_600_000;

test(`no delivery is lost: ${deliveries} to ${receivers} receivers, ${kills} kills of the worker`, {
  timeout,
}, async (c) => {
  const t = await startWebhookApp(settings);
  const arrived = Array.from({ length: receivers }, () => new Map<string, number>());
  for (const own of arrived) {
    const { url } = await startReceiver(
      ({ body }, response) => {
        const { data } = JSON.parse(body);
        own.set(data.tokenId, (own.get(data.tokenId) ?? 0) + 1);
        response.writeHead(204).end();
      },
      { keep: false },
    );
    await t.subscribe(url, ['token.issued']);
  }
  const events = Math.ceil(deliveries / receivers);
  const expected: string[] = [];
  const issue = async () => {
    while (expected.length < events) {
      expected.push('');
      const token = await t.token('agents:read');
      expected[expected.indexOf('')] = JSON.parse(
        Buffer.from(token.split('.')[1] ?? '', 'base64url').toString(),
      ).jti;
    }
  };
  const issuing = Promise.all(Array.from({ length: 16 }, issue));
  const count = () => arrived.reduce((sum, own) => sum + own.size, 0);

  for (let kill = 0; kill < kills; kill += 1) {
    const before = count();
    const worker = startWorker(t);
    // Each kill hits another phase of the deliveries.
    const goal = before + Math.ceil(deliveries / (kills * 2));
    await until(
      'some deliveries',
      async () => (count() >= Math.min(goal, deliveries - 200) ? true : undefined),
      worker,
      60_000,
    ).catch(() => {});
    await sleep((kill * 37) % 100);
    await end(worker);
    await expireLeases(t);
  }
  await issuing;
  const last = startWorker(t);
  await until(
    'all deliveries',
    async () => (count() >= events * receivers ? true : undefined),
    last,
    600_000,
  );
  // Repeated deliveries may still be in flight.
  await until(
    'all rows settled',
    async () =>
      (await t.sql('select 1 from webhook_deliveries where due_at is not null limit 1')).length === 0
        ? true
        : undefined,
    last,
    180_000,
  );
  const repeats = arrived.reduce(
    (sum, own) => sum + [...own.values()].reduce((more, times) => more + times - 1, 0),
    0,
  );
  c.diagnostic(`${events * receivers} deliveries, ${kills} kills, 0 lost, ${repeats} repeated`);
  for (const own of arrived) assert.deepEqual([...own.keys()].sort(), expected.toSorted());
  const statuses = await t.sql('select status, count(*)::int as n from webhook_deliveries group by 1');
  assert.deepEqual(statuses, [{ status: 'delivered', n: events * receivers }]);
});
