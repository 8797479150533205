import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailable } from '../data/db.ts';
import { formatError } from '../http/error-format.ts';
import { Overloaded } from '../overloaded.ts';
import { type BatcherOptions, createBatcher } from './batcher.ts';

/** Batches that the test finishes. */
function createBatches(limits: Partial<Omit<BatcherOptions<number, string>, 'run'>> = {}) {
  const started: { items: readonly number[]; finish: () => void }[] = [];
  let inFlight = 0;
  let maxInFlight = 0;
  const add = createBatcher<number, string>({
    name: 'test',
    maxBatch: 100,
    concurrency: 1,
    maxQueue: 1_000,
    ...limits,
    async run(items) {
      inFlight += 1;
      maxInFlight = Math.max(maxInFlight, inFlight);
      await new Promise<void>((finish) => void started.push({ items, finish }));
      inFlight -= 1;
      return items.map((item) => `#${item}`);
    },
  });
  return {
    add,
    started,
    peak: () => maxInFlight,
    /** Finishes every batch as soon as it starts, until no more batches start. */
    async finishAll() {
      for (let quiet = 0, done = 0; quiet < 3; quiet += 1) {
        await nextTick();
        for (; done < started.length; done += 1) {
          started[done]?.finish();
          quiet = 0;
        }
      }
    },
  };
}
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
const batches = (started: readonly { items: readonly number[] }[]) => started.map(({ items }) => items);

describe('batcher', () => {
  it('returns the result of each item, in any batch', async () => {
    const { add, finishAll } = createBatches({ maxBatch: 7, concurrency: 3 });
    const results = Promise.all(upTo(50).map(add));
    await finishAll();
    assert.deepEqual(
      await results,
      upTo(50).map((item) => `#${item}`),
    );
  });

  it('items of one tick form a batch; items that arrive while it is in flight form the next', async () => {
    const { add, started, finishAll } = createBatches();
    const first = [add(1), add(2)];
    await nextTick();
    const second = [add(3)];
    await nextTick();
    second.push(add(4), add(5));
    await nextTick();
    assert.deepEqual(batches(started), [[1, 2]]);
    await finishAll();
    await Promise.all([...first, ...second]);
    assert.deepEqual(batches(started), [
      [1, 2],
      [3, 4, 5],
    ]);
  });

  it('starts again after it was idle', async () => {
    const { add, started, finishAll } = createBatches();
    for (const item of [1, 2]) {
      const result = add(item);
      await finishAll();
      assert.equal(await result, `#${item}`);
    }
    assert.deepEqual(batches(started), [[1], [2]]);
  });

  it('a batch has at most maxBatch items, in order', async () => {
    const { add, started, peak, finishAll } = createBatches({ maxBatch: 4 });
    const results = Promise.all(upTo(10).map(add));
    await finishAll();
    await results;
    assert.deepEqual(batches(started), [
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ]);
    assert.equal(peak(), 1);
  });

  it('runs up to `concurrency` batches at once', async () => {
    const { add, peak, finishAll } = createBatches({ maxBatch: 2, concurrency: 3 });
    const results = Promise.all(upTo(30).map(add));
    await finishAll();
    await results;
    assert.equal(peak(), 3);
  });
});

describe('keys', () => {
  /** The key of an item is its number of hundreds. */
  const key = (item: number) => String(Math.floor(item / 100));

  it('take turns: an item behind 500 of another key is in the next batch', async () => {
    const { add, started, finishAll } = createBatches({ maxBatch: 4, key: (item) => String(item >= 500) });
    const results = [add(0)];
    await nextTick();
    results.push(...upTo(500).map(add), add(500), add(501));
    started[0]?.finish();
    await nextTick();
    assert.deepEqual(batches(started)[1], [0, 500, 1, 501]);
    await finishAll();
    await Promise.all(results);
    assert.deepEqual(batches(started)[2], [2, 3, 4, 5]);
  });

  it('keep the order of arrival of each, and the key that was not served comes first', async () => {
    const { add, started, finishAll } = createBatches({ maxBatch: 3, key });
    const results = [1, 2, 3, 100, 101, 200, 201, 202].map(add);
    await finishAll();
    await Promise.all(results);
    assert.deepEqual(batches(started), [
      [1, 100, 200],
      [2, 101, 201],
      [3, 202],
    ]);
  });

  it('are refused for their own backlog: a full key leaves room for the others', async () => {
    const { add, finishAll } = createBatches({ maxBatch: 2, maxQueue: 6, key });
    const results = [1, 2].map(add);
    await nextTick();
    results.push(...[3, 4, 5, 6, 7, 8].map(add));
    assert.deepEqual([add.isFull('0'), add.isFull('1'), add.isFull()], [true, false, false]);
    await assert.rejects(add(9), Overloaded);
    results.push(...[100, 101].map(add));
    assert.deepEqual([add.isFull('0'), add.isFull('1')], [true, false]);
    results.push(add(102));
    assert.equal(add.isFull('1'), true, 'three of each are before its next');
    await finishAll();
    assert.equal((await Promise.all(results)).length, 11);
  });
});

describe('ready', () => {
  it('a batch is formed when it resolves, of all items that have arrived by then', async () => {
    let letGo = Promise.withResolvers<void>();
    const { add, started, finishAll } = createBatches({ ready: () => letGo.promise });
    const results = [add(1)];
    await nextTick();
    results.push(add(2));
    assert.deepEqual(batches(started), []);
    letGo.resolve();
    await nextTick();
    assert.deepEqual(batches(started), [[1, 2]]);
    letGo = Promise.withResolvers();
    results.push(add(3));
    await finishAll();
    assert.deepEqual(batches(started), [[1, 2]]);
    letGo.resolve();
    await finishAll();
    assert.deepEqual(await Promise.all(results), ['#1', '#2', '#3']);
  });
});

describe('a queue that is too slow', () => {
  it('is full when a new item would wait longer than maxWaitMs, by the last full batch', async () => {
    const { add, started, finishAll } = createBatches({ maxBatch: 2, maxWaitMs: 100 });
    const results = upTo(4).map(add);
    assert.equal(add.isFull(), false, 'the speed is not known yet');
    await nextTick();
    await sleep(200);
    started[0]?.finish();
    await nextTick();
    assert.equal(add.isFull(), false, 'a queue that fits in one batch is not refused');
    results.push(add(4), add(5));
    assert.equal(add.isFull(), true);
    await assert.rejects(add(6), Overloaded);
    await finishAll();
    assert.equal((await Promise.all(results)).length, 6);
    results.push(...[7, 8, 9].map(add));
    assert.equal(add.isFull(), false, 'the last full batch was fast');
    await finishAll();
    await Promise.all(results);
  });

  it('is full earlier when it has been long for maxWaitMs, until it fits in one batch again', async () => {
    const inOverload = { maxWaitMs: 0, minQueue: 4 };
    const { add, started, finishAll } = createBatches({ maxBatch: 2, maxWaitMs: 500, inOverload });
    const results = upTo(6).map(add);
    await nextTick();
    started[0]?.finish();
    await nextTick();
    results.push(add(6), add(7));
    assert.equal(add.isFull(), false, 'a burst');
    await sleep(550);
    assert.equal(add.isFull(), true, 'four wait');
    await assert.rejects(add(8), Overloaded);
    started[1]?.finish();
    await nextTick();
    await finishAll();
    assert.equal((await Promise.all(results)).length, 8);
    const burst = upTo(8).map(add);
    assert.equal(add.isFull(), false, 'the next burst');
    await finishAll();
    await Promise.all(burst);
  });
});

describe('a full queue', () => {
  it('503 SERVICE_UNAVAILABLE with Retry-After for items beyond maxQueue; the others get their results', async () => {
    const { add, finishAll } = createBatches({ maxBatch: 2, maxQueue: 3 });
    const served = [add(0), add(1)];
    await nextTick();
    // Two are in flight; three may wait.
    served.push(add(2), add(3), add(4));
    const refused = Promise.allSettled([add(5), add(6)]);
    await finishAll();
    for (const outcome of await refused) {
      assert.equal(outcome.status, 'rejected');
      assert.ok(outcome.reason instanceof Overloaded);
      const envelope = formatError(outcome.reason, { failures: 'envelope' });
      assert.equal(envelope.status, 503);
      assert.equal(envelope.headers['retry-after'], '1');
      assert.equal((envelope.body as { code: string }).code, 'SERVICE_UNAVAILABLE');
      const oauth = formatError(outcome.reason, { failures: 'oauth' });
      assert.deepEqual([oauth.status, oauth.headers['retry-after']], [503, '1']);
      assert.equal((oauth.body as { error: string }).error, 'temporarily_unavailable');
    }
    assert.deepEqual(await Promise.all(served), ['#0', '#1', '#2', '#3', '#4']);
    const later = add(7);
    await finishAll();
    assert.equal(await later, '#7', 'the queue has room again');
  });
});

describe('a failed batch', () => {
  const failingFor = (isBad: (item: number) => boolean, error = new Error('bad item')) => {
    const runs: (readonly number[])[] = [];
    const add = createBatcher<number, string>({
      name: 'test',
      maxBatch: 100,
      concurrency: 1,
      maxQueue: 1_000,
      async run(items) {
        runs.push(items);
        if (items.some(isBad)) throw error;
        return items.map((item) => `#${item}`);
      },
    });
    return { add, runs };
  };
  const outcomesOf = async (asked: Promise<string>[]) =>
    (await Promise.allSettled(asked)).map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Error).message,
    );

  it('is retried item by item: only the bad item fails', async () => {
    const { add, runs } = failingFor((item) => item === 2);
    assert.deepEqual(await outcomesOf(upTo(4).map(add)), ['#0', '#1', 'bad item', '#3']);
    assert.deepEqual(runs, [[0, 1, 2, 3], [0], [1], [2], [3]]);
    assert.equal(await add(9), '#9', 'later items succeed');
  });

  it('of one item is not retried', async () => {
    const { add, runs } = failingFor(() => true);
    assert.deepEqual(await outcomesOf([add(1)]), ['bad item']);
    assert.deepEqual(runs, [[1]]);
  });

  it('is not retried item by item while the database is unavailable', async () => {
    const { add, runs } = failingFor((item) => item < 10, new DatabaseUnavailable(new Error('gone')));
    assert.deepEqual(
      await outcomesOf(upTo(3).map(add)),
      upTo(3).map(() => 'cannot use the database: gone'),
    );
    assert.deepEqual(runs, [[0, 1, 2]]);
    assert.equal(await add(10), '#10', 'later items succeed when the database is back');
  });
});
