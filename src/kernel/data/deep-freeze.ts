/** Deep freeze: values that many requests share cannot be changed, so results derived from them can be memoized. */

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
