/**
 * A batcher: items that arrive while a batch is in flight form the next batch. Concurrent requests share a round trip or a commit
 * this way. When the queue is full, further items are refused at once (backpressure).
 */
import { DatabaseUnavailable } from '../data/db.ts';
import { Overloaded } from './overloaded.ts';

export interface BatcherOptions<Item, Result> {
  /** Returns results in the order of the items. If it throws, each item of the batch is run alone, see below. */
  run(items: readonly Item[]): Promise<readonly Result[]>;
  readonly maxBatch: number;
  /** Batches in flight at the same time. */
  readonly concurrency: number;
  /** Items that may wait for a batch. */
  readonly maxQueue: number;
}

interface QueuedItem<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export function createBatcher<Item, Result>(
  options: BatcherOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  const { run, maxBatch, concurrency, maxQueue } = options;
  let queue: QueuedItem<Item, Result>[] = [];
  let inFlight = 0;

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
      const isUnavailable = error instanceof DatabaseUnavailable || error instanceof Overloaded;
      if (batch.length > 1 && !isUnavailable) {
        for (const queued of batch) await runBatch([queued]);
        return;
      }
      for (const { reject } of batch) reject(error);
    }
  };

  const drain = async () => {
    while (queue.length > 0) {
      const batch = queue.slice(0, maxBatch);
      queue = queue.slice(maxBatch);
      await runBatch(batch);
    }
    inFlight -= 1;
  };

  return (item) =>
    new Promise((resolve, reject) => {
      if (queue.length >= maxQueue) return reject(new Overloaded());
      queue.push({ item, resolve, reject });
      if (inFlight >= concurrency) return;
      inFlight += 1;
      // Requests that arrived in the same tick of the event loop join the first batch.
      setImmediate(drain);
    });
}
