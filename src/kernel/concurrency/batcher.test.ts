import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DatabaseUnavailable } from '../data/db.ts';
import { formatError } from '../http/error-format.ts';
import { type BatcherOptions, createBatcher } from './batcher.ts';
import { Overloaded } from './overloaded.ts';

/** Errands that take until the test lets them go. */
function createErrands(limits: Partial<Omit<BatcherOptions<number, string>, 'run'>> = {}) {
  const begun: { items: readonly number[]; finish: () => void }[] = [];
  let underWay = 0;
  let mostAtOnce = 0;
  const ask = createBatcher<number, string>({
    maxBatch: 100,
    concurrency: 1,
    maxQueue: 1_000,
    ...limits,
    async run(items) {
      underWay += 1;
      mostAtOnce = Math.max(mostAtOnce, underWay);
      await new Promise<void>((finish) => void begun.push({ items, finish }));
      underWay -= 1;
      return items.map((item) => `#${item}`);
    },
  });
  return {
    ask,
    begun,
    most: () => mostAtOnce,
    /** Lets every errand go as soon as it begins, until nothing begins any more. */
    async finishAll() {
      for (let quiet = 0, done = 0; quiet < 3; quiet += 1) {
        await nextTurn();
        for (; done < begun.length; done += 1) {
          begun[done]?.finish();
          quiet = 0;
        }
      }
    },
  };
}
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
const batches = (begun: readonly { items: readonly number[] }[]) => begun.map(({ items }) => items);

describe('gathering', () => {
  it('gives each asker its own answer, in whatever batch it went', async () => {
    const { ask, finishAll } = createErrands({ maxBatch: 7, concurrency: 3 });
    const answers = Promise.all(upTo(50).map(ask));
    await finishAll();
    assert.deepEqual(
      await answers,
      upTo(50).map((item) => `#${item}`),
    );
  });

  it('what is asked in the same turn goes together; what is asked while an errand is under way, with the next', async () => {
    const { ask, begun, finishAll } = createErrands();
    const first = [ask(1), ask(2)];
    await nextTurn();
    const second = [ask(3)];
    await nextTurn();
    second.push(ask(4), ask(5));
    await nextTurn();
    assert.deepEqual(batches(begun), [[1, 2]]);
    await finishAll();
    await Promise.all([...first, ...second]);
    assert.deepEqual(batches(begun), [
      [1, 2],
      [3, 4, 5],
    ]);
  });

  it('begins anew after it has come to rest', async () => {
    const { ask, begun, finishAll } = createErrands();
    for (const item of [1, 2]) {
      const answer = ask(item);
      await finishAll();
      assert.equal(await answer, `#${item}`);
    }
    assert.deepEqual(batches(begun), [[1], [2]]);
  });

  it('takes at most so many along, in the order asked', async () => {
    const { ask, begun, most, finishAll } = createErrands({ maxBatch: 4 });
    const answers = Promise.all(upTo(10).map(ask));
    await finishAll();
    await answers;
    assert.deepEqual(batches(begun), [
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ]);
    assert.equal(most(), 1);
  });

  it('runs at most so many errands at once, and as many when there is enough to do', async () => {
    const { ask, most, finishAll } = createErrands({ maxBatch: 2, concurrency: 3 });
    const answers = Promise.all(upTo(30).map(ask));
    await finishAll();
    await answers;
    assert.equal(most(), 3);
  });
});

describe('when the errands do not keep up', () => {
  it('503 SERVICE_UNAVAILABLE with Retry-After for who would have to wait behind too many; the others are served', async () => {
    const { ask, finishAll } = createErrands({ maxBatch: 2, maxQueue: 3 });
    const served = [ask(0), ask(1)];
    await nextTurn();
    // Two are under way; three may wait.
    served.push(ask(2), ask(3), ask(4));
    const refused = Promise.allSettled([ask(5), ask(6)]);
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
    const later = ask(7);
    await finishAll();
    assert.equal(await later, '#7', 'there is room again');
  });
});

describe('when an errand fails', () => {
  const failingFor = (isBad: (item: number) => boolean, error = new Error('bad item')) => {
    const runs: (readonly number[])[] = [];
    const ask = createBatcher<number, string>({
      maxBatch: 100,
      concurrency: 1,
      maxQueue: 1_000,
      async run(items) {
        runs.push(items);
        if (items.some(isBad)) throw error;
        return items.map((item) => `#${item}`);
      },
    });
    return { ask, runs };
  };
  const outcomesOf = async (asked: Promise<string>[]) =>
    (await Promise.allSettled(asked)).map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Error).message,
    );

  it('for one of several, that one is refused and the others are served, each alone', async () => {
    const { ask, runs } = failingFor((item) => item === 2);
    assert.deepEqual(await outcomesOf(upTo(4).map(ask)), ['#0', '#1', 'bad item', '#3']);
    assert.deepEqual(runs, [[0, 1, 2, 3], [0], [1], [2], [3]]);
    assert.equal(await ask(9), '#9', 'and it goes on');
  });

  it('for one alone, it is not tried again', async () => {
    const { ask, runs } = failingFor(() => true);
    assert.deepEqual(await outcomesOf([ask(1)]), ['bad item']);
    assert.deepEqual(runs, [[1]]);
  });

  it('because the database is unavailable, all are refused at once: trying each would only take longer', async () => {
    const { ask, runs } = failingFor((item) => item < 10, new DatabaseUnavailable(new Error('gone')));
    assert.deepEqual(
      await outcomesOf(upTo(3).map(ask)),
      upTo(3).map(() => 'cannot use the database: gone'),
    );
    assert.deepEqual(runs, [[0, 1, 2]]);
    assert.equal(await ask(10), '#10', 'and it goes on when it is back');
  });
});
