/** What is shared by many and kept from changing: whatever follows from it, such as its text, need be worked out only once. */

const known = new WeakSet<object>();

/** The value itself, which from now on nobody can change, in no part of it. For plain data, as JSON has it. */
export function unchanging<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !known.has(value)) {
    Object.values(value).forEach(unchanging);
    known.add(Object.freeze(value));
  }
  return value;
}

/** Whether it was made so here: what is frozen on the surface may still change below. */
export const isUnchanging = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && known.has(value);

/** Works something out for an object when it is first asked for, and remembers it for as long as there is that object. */
export function onceFor<Key extends object, Value, More extends unknown[] = []>(
  workOut: (key: Key, ...more: More) => Value,
): (key: Key, ...more: More) => Value {
  const workedOut = new WeakMap<Key, Value>();
  return (key, ...more) => {
    const before = workedOut.get(key);
    if (before !== undefined) return before;
    const value = workOut(key, ...more);
    workedOut.set(key, value);
    return value;
  };
}
