import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deepFreeze, isDeepFrozen, memoize } from './shared-values.ts';

describe('deepFreeze', () => {
  it('freezes every level of a value', () => {
    const value = deepFreeze({ list: [{ deep: ['a'] }], nothing: null });
    assert.throws(() => value.list.push({ deep: [] }), TypeError);
    assert.throws(() => value.list[0]?.deep.push('b'), TypeError);
    assert.throws(() => Object.assign(value, { more: 1 }), TypeError);
  });

  it('returns primitives unchanged', () => {
    for (const value of [null, undefined, 'text', 1]) {
      assert.equal(deepFreeze(value), value);
      assert.equal(isDeepFrozen(value), false);
    }
  });

  it('isDeepFrozen is true only for values that deepFreeze has frozen', () => {
    assert.equal(isDeepFrozen({}), false);
    assert.equal(isDeepFrozen(deepFreeze({})), true);
    const shallow = Object.freeze({ list: ['a'] });
    assert.equal(isDeepFrozen(shallow), false);
    deepFreeze({ shallow });
    assert.throws(() => shallow.list.push('b'), TypeError);
  });
});

describe('memoize', () => {
  it('computes once per object', () => {
    let calls = 0;
    const numberOf = memoize((_: object) => {
      calls += 1;
      return calls;
    });
    const [one, two] = [{}, {}];
    assert.deepEqual([numberOf(one), numberOf(two), numberOf(one)], [1, 2, 1]);
  });
});
