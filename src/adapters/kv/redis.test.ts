/** What a Redis that is there and yet of no use does to whoever asks it: the port's behaviour proper is in kv.test.ts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { skipWithout } from '../../../test/support/harness.ts';
import { onRedis, startRedis, until } from '../../../test/support/programs.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { KvUnavailable } from '../../kernel/ports/kv.ts';
import { createRedisKv } from './redis.ts';

async function connect(t: TestContext, url: string) {
  const said: string[] = [];
  const log = createLog({
    level: 'info',
    destination: { write: (line) => void said.push(JSON.parse(line).msg) },
  });
  const kv = await createRedisKv(url, log);
  t.after(() => kv.close());
  return { kv, said };
}

/** As a process does that has much to load. */
const block = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

async function open(t: TestContext) {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  const { kv, said } = await connect(t, redis.url);
  const untilIt = (answers: boolean) =>
    until(`Redis ${answers ? 'answers' : 'is away'}`, async () => {
      const answered = await kv.get('x').then(
        () => true,
        () => false,
      );
      return answered === answers || undefined;
    });
  await untilIt(true);
  return { redis, kv, said, untilIt };
}

/** In turn, whatever else a busy machine makes of it. */
function assertSaidInTurn(said: readonly string[]): void {
  said.forEach((line, index) => {
    assert.match(line, index % 2 === 0 ? /^redis unavailable: / : /^redis available again$/, said.join('\n'));
  });
}

const refusals = {
  'is full': {
    begin: ['config', 'set', 'maxmemory', '1'],
    end: ['config', 'set', 'maxmemory', '0'],
    says: /^redis unavailable: OOM command not allowed/,
  },
  'has become a replica': {
    begin: ['replicaof', '127.0.0.1', '1'],
    end: ['replicaof', 'no', 'one'],
    says: /^redis unavailable: READONLY You can't write/,
  },
  'misses its replicas': {
    begin: ['config', 'set', 'min-replicas-to-write', '1'],
    end: ['config', 'set', 'min-replicas-to-write', '0'],
    says: /^redis unavailable: NOREPLICAS/,
  },
};

describe('a Redis that can be read and not written to is away', { concurrency: 3 }, () => {
  for (const [why, { begin, end, says }] of Object.entries(refusals)) {
    test(`because it ${why}: reads are refused too, as nobody could announce a change; it is said once, and found again`, async (t) => {
      const opened = await open(t);
      if (!opened) return;
      const { redis, kv, said, untilIt } = opened;
      const order = ([name = '', ...rest]: string[]) =>
        onRedis(redis.port, (client) => client.call(name, ...rest));
      await kv.set('kept', 'before', { ttlMs: 60_000 });
      await order(begin);
      await assert.rejects(kv.increment('n', { ttlMs: 60_000 }), KvUnavailable);
      for (const refused of [
        () => kv.get('kept'),
        () => kv.getMany(['kept']),
        () => kv.take('n', { max: 1 }),
        () => kv.ping(),
      ])
        await assert.rejects(refused(), KvUnavailable);
      assertSaidInTurn(said);
      assert.match(said.at(-1) ?? '', says);

      await order(end);
      await untilIt(true);
      assert.equal(await kv.get('kept'), 'before');
      assertSaidInTurn(said);
      assert.equal(said.at(-1), 'redis available again');
    });
  }

  test('also where nobody writes: it is found out within a second or two', async (t) => {
    const opened = await open(t);
    if (!opened) return;
    const { redis, said, untilIt } = opened;
    await onRedis(redis.port, (client) => client.config('SET', 'maxmemory', '1'));
    await untilIt(false);
    assert.match(said.at(-1) ?? '', /^redis unavailable: OOM/);
  });

  test('a key that holds something else is no reason', async (t) => {
    const opened = await open(t);
    if (!opened) return;
    const { redis, kv, said } = opened;
    await onRedis(redis.port, (client) => client.lpush('countersign:odd', 'x'));
    await assert.rejects(kv.get('odd'), KvUnavailable);
    await assert.rejects(kv.increment('odd', { ttlMs: 1_000 }), KvUnavailable);
    assert.equal(await kv.get('even'), null);
    assert.deepEqual(said, []);
  });
});

test('a Redis that stands still, or is gone, is said to be away once, and back once', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const { redis, said, untilIt } = opened;
  redis.program.kill('SIGSTOP');
  t.after(() => redis.program.kill('SIGCONT'));
  await untilIt(false);
  for (let round = 0; round < 3; round += 1) await assert.rejects(opened.kv.ping(), KvUnavailable);
  assert.equal(said.at(-1), 'redis unavailable: no answer within 250 ms; counting limits per process');
  redis.program.kill('SIGCONT');
  await untilIt(true);
  assert.equal(said.at(-1), 'redis available again');

  redis.program.kill('SIGKILL');
  await redis.program.ended();
  await untilIt(false);
  await startRedis(redis.port);
  await untilIt(true);
  assert.ok(said.length >= 4, said.join('\n'));
  assertSaidInTurn(said);
});

test('a process that is busy itself does not take Redis for slow', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const asked = opened.kv.set('a', '1', { ttlMs: 60_000 });
  await new Promise((resolve) => setImmediate(resolve));
  block(1_000);
  assert.equal(await asked, true);
});

test('a Redis that is not there at the start is said to be away', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const { redis } = opened;
  redis.program.kill('SIGKILL');
  await redis.program.ended();
  const { kv, said } = await connect(t, redis.url);
  assert.equal(said.length, 1);
  assert.match(said[0] ?? '', /^redis unavailable: connect ECONNREFUSED/);
  await assert.rejects(kv.ping(), KvUnavailable);
});

test('a Redis that is there at the start answers the first question, and is not called unconnected, however busy the start', async (t) => {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  const { kv, said } = await connect(t, redis.url);
  // Longer than from beat to beat.
  block(1_500);
  assert.equal(await kv.get('x'), null);
  await sleep(1_500);
  // A Redis that is starved may be late with an answer, which is another matter.
  assert.deepEqual(
    said.filter((line) => /connect/.test(line)),
    [],
  );
});

test('a Redis that takes the connection and says nothing is not waited for at the start', async (t) => {
  const mute = createServer(() => {}).listen(0, '127.0.0.1');
  await once(mute, 'listening');
  t.after(() => mute.close());
  const { port } = mute.address() as AddressInfo;
  const started = performance.now();
  const { kv, said } = await connect(t, `redis://127.0.0.1:${port}`);
  const waited = performance.now() - started;
  assert.ok(waited > 900, `waited for ${waited} ms`);
  assert.deepEqual(said, ['redis unavailable: there is no connection; counting limits per process']);
  await assert.rejects(kv.get('x'), KvUnavailable);
});
