/**
 * A queue in which keys (organizations) take turns: the first item of each key, then the second of each. Items of one key are in the
 * order of their arrival.
 */
interface TurnQueue<Item> {
  readonly length: number;
  push(key: string, item: Item): void;
  /** Removes the next items. */
  take(count: number): Item[];
  /** How many items would be served before a new item of this key. */
  ahead(key: string): number;
}

export function createTurnQueue<Item>(): TurnQueue<Item> {
  /** Only keys with items; the key whose turn is next comes first. */
  const keys = new Map<string, Item[]>();
  let length = 0;

  /** The only key needs no turns. */
  const takeOfOne = (key: string, items: Item[], count: number): Item[] => {
    keys.delete(key);
    if (items.length <= count) return items;
    keys.set(key, items.slice(count));
    return items.slice(0, count);
  };

  /** One pass over the keys for each turn. */
  const takeInTurn = (count: number): Item[] => {
    const taken: Item[] = [];
    /** Items taken of each key: shifting each one would cost more. */
    const turns = new Map<string, number>();
    for (const [key, items] of keys) {
      if (taken.length === count) break;
      const turn = turns.get(key) ?? 0;
      taken.push(items[turn] as Item);
      turns.set(key, turn + 1);
      // Behind the others. A Map also visits entries that are added during the iteration.
      keys.delete(key);
      if (turn + 1 < items.length) keys.set(key, items);
    }
    for (const [key, turn] of turns) {
      const items = keys.get(key);
      if (items) keys.set(key, items.slice(turn));
    }
    return taken;
  };

  return {
    get length() {
      return length;
    },
    push(key, item) {
      const items = keys.get(key);
      if (items) items.push(item);
      else keys.set(key, [item]);
      length += 1;
    },
    take(count) {
      const [first] = keys;
      if (!first) return [];
      const taken = keys.size === 1 ? takeOfOne(...first, count) : takeInTurn(count);
      length -= taken.length;
      return taken;
    },
    ahead(key) {
      const own = keys.get(key)?.length ?? 0;
      if (own === 0) return keys.size;
      if (keys.size === 1) return length;
      return keys.values().reduce((sum, { length: others }) => sum + Math.min(others, own + 1), 0);
    },
  };
}
