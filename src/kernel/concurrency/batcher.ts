/**
 * A batcher: items that arrive while a batch is in flight form the next batch. Concurrent requests share a round trip or a commit
 * this way. When the queue is full, further items are refused at once (backpressure).
 */
import { isTemporary } from '../data/db.ts';
import { Overloaded } from './overloaded.ts';

export interface BatcherOptions<Item, Result> {
  /** Returns results in the order of the items. If it throws, each item of the batch is run alone, see below. */
  run(items: readonly Item[]): Promise<readonly Result[]>;
  readonly maxBatch: number;
  /** Batches in flight at the same time. */
  readonly concurrency: number;
  /** Items that may wait for a batch. */
  readonly maxQueue: number;
  /** Items are refused when they would probably wait longer than this, by the speed of the last full batch. */
  readonly maxWaitMs?: number;
  /** Awaited before a batch is formed: items that arrive meanwhile join it. */
  ready?(): Promise<void> | undefined;
}

export interface Batcher<Item, Result> {
  /** Fails with `Overloaded` when the queue is full. */
  (item: Item): Promise<Result>;
  /** Whether it refuses items now; for a caller that would do work in vain. */
  isFull(): boolean;
}

interface QueuedItem<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { run, maxBatch, concurrency, maxQueue, maxWaitMs = Infinity, ready } = options;
  let queue: QueuedItem<Item, Result>[] = [];
  let inFlight = 0;
  /** Of the last full batch. */
  let msPerItem = 0;

  // A queue that fits in one batch is never refused. So a batch is full under load, and `msPerItem` is learned anew each time.
  const isFull = () =>
    queue.length >= maxQueue || (queue.length >= maxBatch && queue.length * msPerItem > maxWaitMs);

  const runBatch = async (batch: readonly QueuedItem<Item, Result>[]): Promise<void> => {
    try {
      const results = await run(batch.map(({ item }) => item));
      if (results.length !== batch.length)
        throw new Error(`${results.length} results for ${batch.length} items`);
      batch.forEach(({ resolve }, index) => {
        resolve(results[index] as Result);
      });
    } catch (error) {
      // One bad item must not fail the others: each is then run alone. Without a database all would fail again.
      const isUnavailable = isTemporary(error);
      if (batch.length > 1 && !isUnavailable) {
        for (const queued of batch) await runBatch([queued]);
        return;
      }
      for (const { reject } of batch) reject(error);
    }
  };

  const drain = async () => {
    while (queue.length > 0) {
      const started = performance.now();
      await ready?.();
      const batch = queue.slice(0, maxBatch);
      queue = queue.slice(maxBatch);
      await runBatch(batch);
      if (batch.length === maxBatch) msPerItem = (performance.now() - started) / (maxBatch * concurrency);
    }
    inFlight -= 1;
  };

  const add = (item: Item): Promise<Result> =>
    new Promise((resolve, reject) => {
      if (isFull()) return reject(new Overloaded());
      queue.push({ item, resolve, reject });
      if (inFlight >= concurrency) return;
      inFlight += 1;
      // Requests that arrived in the same tick of the event loop join the first batch.
      setImmediate(drain);
    });
  return Object.assign(add, { isFull });
}
