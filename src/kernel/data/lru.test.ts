import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createLru } from './lru.ts';

describe('LRU', () => {
  it('get returns the latest value of a key', () => {
    const lru = createLru<number>(10);
    assert.equal(lru.get('a'), undefined);
    lru.set('a', 1);
    lru.set('a', 2);
    assert.equal(lru.get('a'), 2);
  });

  it('keeps an entry that is read often, while others are added', () => {
    const lru = createLru<number>(10);
    lru.set('hot', 1);
    for (let other = 0; other < 1_000; other += 1) {
      lru.set(`other-${other}`, other);
      if (other % 4 === 0) assert.equal(lru.get('hot'), 1);
    }
  });

  it('evicts an entry that is not read while `capacity` others are added', () => {
    for (const capacity of [2, 10, 1_000]) {
      const lru = createLru<number>(capacity);
      lru.set('evicted', 1);
      for (let other = 0; other < capacity; other += 1) lru.set(`other-${other}`, other);
      assert.equal(lru.get('evicted'), undefined);
    }
  });

  it('evicts sooner when entries weigh more', () => {
    const lru = createLru<string>(1_000, (text) => text.length);
    lru.set('light', 'a');
    for (const key of ['b', 'c', 'd']) lru.set(key, 'x'.repeat(600));
    assert.equal(lru.get('light'), undefined);
    assert.equal(lru.get('d')?.length, 600);
  });

  it('never returns a stale value, and always has the most recently used half of its capacity', () => {
    const capacity = 10;
    const key = fc.integer({ min: 0, max: 40 }).map(String);
    const step = fc.record({ key, isSet: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const lru = createLru<number>(capacity);
        const latest = new Map<string, number>();
        const written: string[] = [];
        for (const [time, { key: name, isSet }] of steps.entries()) {
          if (isSet) {
            lru.set(name, time);
            latest.set(name, time);
            written.push(name);
          } else {
            const value = lru.get(name);
            if (value !== undefined) {
              assert.equal(value, latest.get(name));
              written.push(name);
            }
          }
        }
        for (const name of written.slice(-capacity / 2)) assert.equal(lru.get(name), latest.get(name));
      }),
    );
  });
});
