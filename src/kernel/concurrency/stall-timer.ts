/** Ends work with another system that makes no progress: each of its steps has the same time. */

export interface StallTimer {
  /** Aborted when a step took too long, or by the signal of the caller. */
  readonly signal: AbortSignal;
  /** A step begins, or goes on after `pause`. */
  start(): void;
  /** The other system waits for us. */
  pause(): void;
  /** Reads from the other system: the time counts while it is asked for a chunk. A chunk that does not come ends the reading. */
  whileAwaited<T>(source: AsyncIterable<T>): AsyncGenerator<T, void>;
  /** The result of the work, or the failure as soon as a step has taken too long: the work may ignore the signal. */
  race<T>(work: Promise<T>): Promise<T>;
}

export function createStallTimer(
  stepMs: number,
  { failure, signal }: { failure(): Error; signal?: AbortSignal | undefined },
): StallTimer {
  const stalled = new AbortController();
  const either = signal ? AbortSignal.any([signal, stalled.signal]) : stalled.signal;
  let timer: NodeJS.Timeout | undefined;
  const pause = () => clearTimeout(timer);
  const start = () => {
    clearTimeout(timer);
    timer = setTimeout(() => stalled.abort(failure()), stepMs);
  };
  const race = async <T>(work: Promise<T>): Promise<T> => {
    work.catch(() => {});
    either.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(either.reason);
    either.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([work, aborted]);
    } finally {
      either.removeEventListener('abort', onAbort);
      pause();
    }
  };
  return {
    signal: either,
    start,
    pause,
    race,
    async *whileAwaited(source) {
      const iterator = source[Symbol.asyncIterator]();
      try {
        for (;;) {
          start();
          const { done, value } = await race(iterator.next());
          if (done) return;
          yield value;
        }
      } finally {
        // Not awaited: a system that hangs does not answer to this, either.
        iterator.return?.().catch(() => {});
      }
    },
  };
}
