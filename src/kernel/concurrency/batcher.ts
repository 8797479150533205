/**
 * A batcher: items that arrive while a batch is in flight form the next batch. Concurrent requests share a round trip or a commit
 * this way. When the queue is full, further items are refused at once (backpressure). With `key`, keys take turns, and each is refused
 * for its own backlog: an item waits for the items that are served before it, not for all that arrived before it.
 */
import { isTemporary } from '../data/db.ts';
import { runInBatchSpan, startWait } from '../observability/batch-spans.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Span, tracer } from '../observability/tracing.ts';
import { Overloaded } from '../overloaded.ts';
import { createTurnQueue } from './turn-queue.ts';

export interface BatcherOptions<Item, Result> {
  /** The name of the batches in traces and metrics. */
  readonly name: string;
  /** Returns results in the order of the items. If it throws, each item of the batch is run alone, see below. */
  run(items: readonly Item[]): Promise<readonly Result[]>;
  readonly maxBatch: number;
  /** Batches in flight at the same time. */
  readonly concurrency: number;
  /** Items that may wait for a batch, before a new one of the same key. */
  readonly maxQueue: number;
  /** Whose item it is (an organization). Without it all items have one queue. */
  key?(item: Item): string;
  /** Items are refused when they would probably wait longer than this, by the speed of the last full batch. */
  readonly maxWaitMs?: number;
  /** A second limit for a queue that has been longer than a batch for `maxWaitMs`: then it is no burst but an overload. */
  readonly inOverload?: {
    /** The limit of the wait. */
    readonly maxWaitMs: number;
    /** Shorter queues are not refused by it. */
    readonly minQueue: number;
  };
  /** Awaited before a batch is formed: items that arrive during the wait join it. */
  ready?(): Promise<void> | undefined;
  /** Exposes the size and the wait of its batches, and the depth of its queue. */
  readonly metrics?: Metrics;
}

interface Batcher<Item, Result> {
  /** Fails with `Overloaded` when the queue is full. */
  (item: Item): Promise<Result>;
  /** Whether it refuses items of this key now; for a caller that would do work in vain. */
  isFull(key?: string): boolean;
}

interface QueuedItem<Item, Result> {
  readonly item: Item;
  readonly since: number;
  /** Only while its request is traced. */
  readonly wait: Span | undefined;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { name, run, key, maxBatch, concurrency, maxQueue, maxWaitMs = Infinity, ready, metrics } = options;
  const { inOverload = { maxWaitMs, minQueue: maxBatch } } = options;
  const queue = createTurnQueue<QueuedItem<Item, Result>>();
  let inFlight = 0;
  /** Of the last full batch. */
  let msPerItem = 0;
  /** Since when the queue does not fit in one batch. */
  let longQueueSince = Infinity;

  const isFull = (itemKey = '') => {
    const limit = Math.min(maxQueue, maxBatch);
    if (queue.length < limit) return false;
    const ahead = queue.ahead(itemKey);
    if (ahead >= maxQueue) return true;
    // An item that fits in the next batch is never refused. So a batch is full under load, and `msPerItem` is learned anew each time.
    if (ahead < maxBatch) return false;
    const waitMs = ahead * msPerItem;
    if (waitMs > maxWaitMs) return true;
    const isBurst = performance.now() - longQueueSince < maxWaitMs;
    return !isBurst && waitMs > inOverload.maxWaitMs && ahead >= inOverload.minQueue;
  };

  metrics?.gaugeFrom('service_queue_depth', () => queue.length, { queue: name });
  const measure = (size: number, waitedMs: number) => {
    metrics?.observe('service_batch_size', { batch: name }, size);
    metrics?.observe('service_batch_wait_seconds', { batch: name }, waitedMs / 1_000);
  };

  const runBatch = async (batch: readonly QueuedItem<Item, Result>[]): Promise<void> => {
    try {
      const runItems = () => run(batch.map(({ item }) => item));
      const results = await (tracer
        ? runInBatchSpan(
            name,
            batch.map(({ wait }) => wait),
            runItems,
          )
        : runItems());
      if (results.length !== batch.length)
        throw new Error(`${results.length} results for ${batch.length} items`);
      batch.forEach(({ resolve, wait }, index) => {
        wait?.end();
        resolve(results[index] as Result);
      });
    } catch (error) {
      // One bad item must not fail the others: each is then run alone. Without a database all would fail again.
      const isUnavailable = isTemporary(error);
      if (batch.length > 1 && !isUnavailable) {
        for (const queued of batch) await runBatch([queued]);
        return;
      }
      for (const { reject, wait } of batch) {
        wait?.end(error);
        reject(error);
      }
    }
  };

  const drain = async () => {
    while (queue.length > 0) {
      const started = performance.now();
      await ready?.();
      const batch = queue.take(maxBatch);
      if (queue.length <= maxBatch) longQueueSince = Infinity;
      const [first] = batch;
      if (metrics && first) measure(batch.length, performance.now() - first.since);
      await runBatch(batch);
      if (batch.length === maxBatch) msPerItem = (performance.now() - started) / (maxBatch * concurrency);
    }
    inFlight -= 1;
  };

  const add = (item: Item): Promise<Result> =>
    new Promise((resolve, reject) => {
      const itemKey = key?.(item) ?? '';
      if (isFull(itemKey)) return reject(new Overloaded());
      queue.push(itemKey, {
        item,
        since: metrics ? performance.now() : 0,
        wait: tracer && startWait(name),
        resolve,
        reject,
      });
      if (queue.length > maxBatch && longQueueSince === Infinity) longQueueSince = performance.now();
      if (inFlight >= concurrency) return;
      inFlight += 1;
      // Requests that arrived in the same tick of the event loop join the first batch.
      setImmediate(drain);
    });
  return Object.assign(add, { isFull });
}
