/** Values that many requests share: frozen at every level, so that results derived from them can be memoized. */

const frozen = new WeakSet<object>();

/** Freezes plain data, as JSON has it, at every level, and returns it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !frozen.has(value)) {
    Object.values(value).forEach(deepFreeze);
    frozen.add(Object.freeze(value));
  }
  return value;
}

/** Whether `deepFreeze` made it: an object that is only frozen at the top may still change below. */
export const isDeepFrozen = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && frozen.has(value);

/** Memoizes a function of an object: computed on first use, kept in a WeakMap for as long as the object lives. */
export function memoize<Key extends object, Value, More extends unknown[] = []>(
  compute: (key: Key, ...more: More) => Value,
): (key: Key, ...more: More) => Value {
  const results = new WeakMap<Key, Value>();
  return (key, ...more) => {
    const known = results.get(key);
    if (known !== undefined) return known;
    const value = compute(key, ...more);
    results.set(key, value);
    return value;
  };
}
