/** A semaphore: at most `permits` holders at once; the others wait in order. A full queue or a long wait is refused (backpressure). */

interface SemaphoreOptions {
  readonly permits: number;
  readonly maxQueue: number;
  readonly maxWaitMs: number;
  /** The error for a full queue or a long wait. */
  refusal(): Error;
}

interface Semaphore {
  /** Undefined when a permit was free; otherwise resolves once one is. Each holder calls `release` once. */
  acquire(): Promise<void> | undefined;
  release(): void;
  waiting(): number;
}

export function createSemaphore({ permits, maxQueue, maxWaitMs, refusal }: SemaphoreOptions): Semaphore {
  /** In the order of arrival. */
  const queue = new Set<() => void>();
  let free = permits;

  const wait = () =>
    new Promise<void>((resolve, reject) => {
      if (queue.size >= maxQueue) return reject(refusal());
      const timer = setTimeout(() => {
        queue.delete(admit);
        reject(refusal());
      }, maxWaitMs);
      const admit = () => {
        clearTimeout(timer);
        resolve();
      };
      queue.add(admit);
    });

  return {
    acquire() {
      if (free === 0) return wait();
      free -= 1;
      return undefined;
    },
    release() {
      const [next] = queue;
      if (!next) {
        free += 1;
        return;
      }
      queue.delete(next);
      next();
    },
    waiting: () => queue.size,
  };
}
