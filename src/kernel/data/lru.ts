/**
 * An approximate LRU cache, bounded by the number of entries or by their total weight. It keeps two generations: when the young one
 * is full it becomes the old one, and entries that were not read since are evicted. This costs no list to maintain per read, as the exact
 * order of lru-cache does.
 */
interface LruCache<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
}

export function createLru<V>(maxWeight: number, weightOf: (value: V) => number = () => 1): LruCache<V> {
  let young = new Map<string, V>();
  let old = new Map<string, V>();
  let weight = 0;
  const set = (key: string, value: V) => {
    if (weight >= maxWeight / 2) {
      old = young;
      young = new Map();
      weight = 0;
    }
    young.set(key, value);
    weight += weightOf(value);
  };
  return {
    set,
    get(key) {
      const recent = young.get(key);
      if (recent !== undefined) return recent;
      const earlier = old.get(key);
      if (earlier !== undefined) set(key, earlier);
      return earlier;
    },
  };
}
