import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isUnchanging, onceFor, unchanging } from './deep-freeze.ts';

describe('unchanging', () => {
  it('keeps every part of a value from being changed', () => {
    const value = unchanging({ list: [{ deep: ['a'] }], nothing: null });
    assert.throws(() => value.list.push({ deep: [] }), TypeError);
    assert.throws(() => value.list[0]?.deep.push('b'), TypeError);
    assert.throws(() => Object.assign(value, { more: 1 }), TypeError);
  });

  it('leaves what is no object as it is', () => {
    for (const value of [null, undefined, 'text', 1]) {
      assert.equal(unchanging(value), value);
      assert.equal(isUnchanging(value), false);
    }
  });

  it('is not what can still change, be it only below the surface', () => {
    assert.equal(isUnchanging({}), false);
    assert.equal(isUnchanging(unchanging({})), true);
    const shallow = Object.freeze({ list: ['a'] });
    assert.equal(isUnchanging(shallow), false);
    unchanging({ shallow });
    assert.throws(() => shallow.list.push('b'), TypeError);
  });
});

describe('onceFor', () => {
  it('works out once for each object', () => {
    let asked = 0;
    const numberOf = onceFor((_: object) => {
      asked += 1;
      return asked;
    });
    const [one, two] = [{}, {}];
    assert.deepEqual([numberOf(one), numberOf(two), numberOf(one)], [1, 2, 1]);
  });
});
