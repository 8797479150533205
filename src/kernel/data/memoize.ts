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
