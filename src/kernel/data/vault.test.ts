import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { createVault, VaultProblem } from './vault.ts';

describe('the vault', () => {
  const vault = createVault(randomBytes(32));

  it('opens a sealed text; sealing twice gives different texts, and none contains the plain text', () => {
    const sealed = vault.seal('whsec_abc ☕', 'row');
    assert.equal(vault.open(sealed, 'row'), 'whsec_abc ☕');
    assert.ok(!sealed.includes('whsec'));
    assert.notEqual(vault.seal('whsec_abc ☕', 'row'), sealed);
  });
  it('does not open a text of another row or key, or a changed one', () => {
    const sealed = vault.seal('whsec_abc', 'row');
    assert.throws(() => vault.open(sealed, 'other row'), VaultProblem);
    assert.throws(() => createVault(randomBytes(32)).open(sealed, 'row'), /sealed with the key/);
    assert.throws(() => createVault(undefined).open(sealed, 'row'), /sealed with the key/);
    for (let at = sealed.lastIndexOf(':') + 1; at < sealed.length; at += 1) {
      const flipped = sealed[at] === 'A' ? 'B' : 'A';
      const changed = sealed.slice(0, at) + flipped + sealed.slice(at + 1);
      assert.throws(() => vault.open(changed, 'row'), VaultProblem, changed);
    }
    assert.throws(() => vault.open(sealed.slice(0, sealed.lastIndexOf(':') + 9), 'row'), VaultProblem);
  });
  it('without a key stores plain text, which a vault with a key still reads', () => {
    assert.equal(createVault(undefined).seal('whsec_abc', 'row'), 'whsec_abc');
    assert.equal(vault.open('whsec_abc', 'row'), 'whsec_abc');
  });
  it('opens texts of its other keys, and seals with the current one only', () => {
    const [old, next] = [randomBytes(32), randomBytes(32)];
    const before = createVault(old, [next]);
    const after = createVault(next, [old]);
    const sealed = before.seal('whsec_abc', 'row');
    assert.equal(after.open(sealed, 'row'), 'whsec_abc');
    assert.throws(() => after.open(sealed, 'other row'), VaultProblem);
    const again = after.seal('whsec_abc', 'row');
    assert.ok(again.startsWith(after.currentPrefix) && !sealed.startsWith(after.currentPrefix));
    assert.equal(before.open(again, 'row'), 'whsec_abc');
    assert.deepEqual([after.knows(before.keyId ?? ''), vault.knows(before.keyId ?? '')], [true, false]);
    // A node that gets its first key reads it before it writes with it.
    const reader = createVault(undefined, [next]);
    assert.equal(reader.open(again, 'row'), 'whsec_abc');
    assert.equal(reader.seal('whsec_abc', 'row'), 'whsec_abc');
  });
});
