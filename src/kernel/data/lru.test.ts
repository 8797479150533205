import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createLru } from './lru.ts';

describe('what was asked for lately', () => {
  it('is remembered, and the newest value counts', () => {
    const recent = createLru<number>(10);
    assert.equal(recent.get('a'), undefined);
    recent.set('a', 1);
    recent.set('a', 2);
    assert.equal(recent.get('a'), 2);
  });

  it('stays as long as somebody asks for it, whatever else comes and goes', () => {
    const recent = createLru<number>(10);
    recent.set('kept', 1);
    for (let other = 0; other < 1_000; other += 1) {
      recent.set(`other-${other}`, other);
      if (other % 4 === 0) assert.equal(recent.get('kept'), 1);
    }
  });

  it('is forgotten when nobody asks while as many others come as fit', () => {
    for (const atMost of [2, 10, 1_000]) {
      const recent = createLru<number>(atMost);
      recent.set('forgotten', 1);
      for (let other = 0; other < atMost; other += 1) recent.set(`other-${other}`, other);
      assert.equal(recent.get('forgotten'), undefined);
    }
  });

  it('is forgotten sooner where it weighs more', () => {
    const recent = createLru<string>(1_000, (text) => text.length);
    recent.set('light', 'a');
    for (const key of ['b', 'c', 'd']) recent.set(key, 'x'.repeat(600));
    assert.equal(recent.get('light'), undefined);
    assert.equal(recent.get('d')?.length, 600);
  });

  it('gives never an old value, and always knows the last half of what was asked for', () => {
    const atMost = 10;
    const key = fc.integer({ min: 0, max: 40 }).map(String);
    const step = fc.record({ key, isSet: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const recent = createLru<number>(atMost);
        const latest = new Map<string, number>();
        const written: string[] = [];
        for (const [time, { key: name, isSet }] of steps.entries()) {
          if (isSet) {
            recent.set(name, time);
            latest.set(name, time);
            written.push(name);
          } else {
            const found = recent.get(name);
            if (found !== undefined) {
              assert.equal(found, latest.get(name));
              written.push(name);
            }
          }
        }
        for (const name of written.slice(-atMost / 2)) assert.equal(recent.get(name), latest.get(name));
      }),
    );
  });
});
