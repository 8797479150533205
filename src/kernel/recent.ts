/** Remembers up to so many things; the one not asked for the longest goes first. */
export interface Recent<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
}

export function createRecent<V>(atMost: number): Recent<V> {
  // A Map keeps the order of insertion, so what is used is inserted anew.
  const entries = new Map<string, V>();
  return {
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      entries.delete(key);
      entries.set(key, value);
      if (entries.size <= atMost) return;
      const [oldest] = entries.keys();
      entries.delete(oldest as string);
    },
    delete: (key) => void entries.delete(key),
  };
}
