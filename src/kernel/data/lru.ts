/**
 * Remembers about so many things, those asked for lately, or so much of them where they have a weight. In two generations: when
 * the younger is full it becomes the older, and what nobody asks for until the next turn is forgotten.
 */
export interface Recent<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
}

export function createRecent<V>(atMost: number, weightOf: (value: V) => number = () => 1): Recent<V> {
  let younger = new Map<string, V>();
  let older = new Map<string, V>();
  let weight = 0;
  const set = (key: string, value: V) => {
    if (weight >= atMost / 2) {
      older = younger;
      younger = new Map();
      weight = 0;
    }
    younger.set(key, value);
    weight += weightOf(value);
  };
  return {
    set,
    get(key) {
      const lately = younger.get(key);
      if (lately !== undefined) return lately;
      const earlier = older.get(key);
      if (earlier !== undefined) set(key, earlier);
      return earlier;
    },
  };
}
