/**
 * A fair semaphore: at most `concurrency` jobs run at once, and at most `perKey` of one key (an organization), so that a busy key
 * waits for its own jobs and not the others for it. Keys are served round robin. A full queue or a long wait is refused (backpressure).
 */
import type { Metrics } from '../observability/metrics.ts';
import { inCurrentSpan } from '../observability/tracing.ts';
import { Overloaded } from '../overloaded.ts';

interface FairQueueOptions {
  readonly concurrency: number;
  /** Jobs of one key that run at once; 1 by default. */
  readonly perKey?: number;
  /**
   * After a job its place of the key rests for this multiple of the job's duration, so that a key without a pause between its jobs uses
   * a part of the time only. None by default.
   */
  readonly restFactor?: number;
  /** Jobs of one key that may wait. */
  readonly maxQueue: number;
  /** By then the client has usually closed its connection. */
  readonly maxWaitMs?: number;
  /** Exposes the number of waiting jobs under this name. */
  readonly measured?: { readonly metrics: Metrics; readonly name: string };
}

/** A job that still waits when the signal is aborted leaves the queue, and fails with the reason of the signal. */
export type FairQueue = <T>(key: string, work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

type Job = () => Promise<void>;

interface KeyQueue {
  readonly waiting: Job[];
  running: number;
}

const defaultMaxWaitMs = 60_000;
/** Shorter rests are left out: a timer would take longer. */
const minRestMs = 2;
const maxRestMs = 1_000;

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const {
    concurrency,
    perKey = 1,
    restFactor = 0,
    maxQueue,
    maxWaitMs = defaultMaxWaitMs,
    measured,
  } = options;
  const queues = new Map<string, KeyQueue>();
  /** Keys with a job waiting and fewer than `perKey` running; the longest waiting first. */
  const ready = new Set<string>();
  let running = 0;

  const waiting = () => queues.values().reduce((sum, queue) => sum + queue.waiting.length, 0);
  measured?.metrics.gaugeFrom('service_queue_depth', waiting, { queue: measured.name });

  const dispatch = () => {
    for (const key of ready) {
      if (running >= concurrency) return;
      ready.delete(key);
      const queue = queues.get(key);
      // A key whose jobs have all timed out has no queue any more.
      if (queue && queue.waiting.length > 0) void runNext(key, queue);
    }
  };

  /** Adds the key behind the others. A Set also visits members that are added during the iteration. */
  const enqueue = (key: string, queue: KeyQueue) => {
    if (queue.waiting.length > 0 && queue.running < perKey) ready.add(key);
    else if (queue.waiting.length === 0 && queue.running === 0) queues.delete(key);
  };

  const runNext = async (key: string, queue: KeyQueue) => {
    running += 1;
    queue.running += 1;
    const job = queue.waiting.shift();
    enqueue(key, queue);
    const started = performance.now();
    await job?.();
    running -= 1;
    const freePlace = () => {
      queue.running -= 1;
      enqueue(key, queue);
      dispatch();
    };
    const restMs = Math.min(maxRestMs, restFactor * (performance.now() - started));
    if (restMs < minRestMs) return freePlace();
    setTimeout(freePlace, restMs);
    dispatch();
  };

  return (key, work, signal) =>
    new Promise((resolve, reject) => {
      // A job may be started by the end of another request's job.
      const run = inCurrentSpan(work);
      const queue = queues.get(key) ?? { waiting: [], running: 0 };
      if (queue.waiting.length >= maxQueue) return reject(new Overloaded());
      const leave = (reason: unknown) => {
        stopWaiting();
        queue.waiting.splice(queue.waiting.indexOf(job), 1);
        enqueue(key, queue);
        reject(reason);
      };
      const onAbort = () => leave(signal?.reason);
      const timer = setTimeout(() => leave(new Overloaded()), maxWaitMs);
      const stopWaiting = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const job = async () => {
        stopWaiting();
        try {
          resolve(await run());
        } catch (error) {
          reject(error);
        }
      };
      queue.waiting.push(job);
      queues.set(key, queue);
      signal?.addEventListener('abort', onAbort);
      enqueue(key, queue);
      dispatch();
      if (signal?.aborted && queue.waiting.includes(job)) onAbort();
    });
}
