import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deepFreeze, isDeepFrozen } from './deep-freeze.ts';
import { memoize } from './memoize.ts';

describe('unchanging', () => {
  it('keeps every part of a value from being changed', () => {
    const value = deepFreeze({ list: [{ deep: ['a'] }], nothing: null });
    assert.throws(() => value.list.push({ deep: [] }), TypeError);
    assert.throws(() => value.list[0]?.deep.push('b'), TypeError);
    assert.throws(() => Object.assign(value, { more: 1 }), TypeError);
  });

  it('leaves what is no object as it is', () => {
    for (const value of [null, undefined, 'text', 1]) {
      assert.equal(deepFreeze(value), value);
      assert.equal(isDeepFrozen(value), false);
    }
  });

  it('is not what can still change, be it only below the surface', () => {
    assert.equal(isDeepFrozen({}), false);
    assert.equal(isDeepFrozen(deepFreeze({})), true);
    const shallow = Object.freeze({ list: ['a'] });
    assert.equal(isDeepFrozen(shallow), false);
    deepFreeze({ shallow });
    assert.throws(() => shallow.list.push('b'), TypeError);
  });
});

describe('onceFor', () => {
  it('works out once for each object', () => {
    let asked = 0;
    const numberOf = memoize((_: object) => {
      asked += 1;
      return asked;
    });
    const [one, two] = [{}, {}];
    assert.deepEqual([numberOf(one), numberOf(two), numberOf(one)], [1, 2, 1]);
  });
});
