/** What is shared by many and kept from changing: whatever follows from it, such as its text, need be worked out only once. */

/** The value itself, which from now on nobody can change, in no part of it. For plain data. */
export function unchanging<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.values(value).forEach(unchanging);
    Object.freeze(value);
  }
  return value;
}

export const isUnchanging = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.isFrozen(value);

/** Works something out for an object when it is first asked for, and remembers it for as long as there is that object. */
export function onceFor<Key extends object, Value>(workOut: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const value = workOut(key);
    known.set(key, value);
    return value;
  };
}
