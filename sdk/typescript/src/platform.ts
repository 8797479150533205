/** Time, randomness and the network, so that tests can replace them. */

export interface Platform {
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds of a clock that is never set. `now` by default when that is replaced. */
  elapsed(): number;
  /** At least 0, less than 1. */
  random(): number;
  /** Rejects with the reason of the signal when it aborts. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export const createPlatform = (changes: Partial<Platform> = {}): Platform => ({
  // Looked up for each call: programs replace the global function, and browsers need it called as a plain function.
  fetch: changes.fetch ?? ((input, init) => globalThis.fetch(input, init)),
  now: changes.now ?? Date.now,
  elapsed: changes.elapsed ?? changes.now ?? (() => performance.now()),
  random: changes.random ?? Math.random,
  sleep: changes.sleep ?? sleep,
});

export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return unlessAborted(
    signal,
    new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      signal?.addEventListener('abort', () => clearTimeout(timer), { once: true });
    }),
  );
}

/** The result of the work, or a rejection as soon as the signal aborts. The work itself goes on. */
export function unlessAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
