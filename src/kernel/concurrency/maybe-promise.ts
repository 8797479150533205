/**
 * A value that is often there at once. Reads that the memory of this process answers run without promises: each `await` on the way
 * costs a microtask. Measured, CPU time: 0.46 instead of 0.88 µs for four keys of the cache, 0.54 instead of 0.96 µs for the rate
 * window. GET /agents/{id} does this three times, and as many promises above each of them are gone too.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Continues at once with a value, and later with the value of a promise. */
export const andThen = <T, Next>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<Next>,
): MaybePromise<Next> => (value instanceof Promise ? value.then(next) : next(value));
