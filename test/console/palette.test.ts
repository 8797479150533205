/** What the palette finds without the server, and in which order. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Entry, findEntries, groupEntries } from '../../console/src/app/palette-entries.ts';

const entry = (kind: Entry['kind'], label: string, keywords?: string): Entry => ({
  id: `${kind}:${label}`,
  kind,
  label,
  keywords,
  icon: 'page',
  run: () => undefined,
});
const entries = [
  entry('Actions', 'Usage by agent'),
  entry('Actions', 'Register an agent', 'new create'),
  entry('Pages', 'My agents'),
  entry('Pages', 'Agents'),
  entry('Pages', 'Audit log'),
];
const labels = (typed: string) => findEntries(entries, typed).map(({ label }) => label);

describe('findEntries', () => {
  it('pages before actions, and in each names that begin with the text first', () =>
    assert.deepEqual(labels('agent'), ['Agents', 'My agents', 'Usage by agent', 'Register an agent']));
  it('all words, also of the keywords', () =>
    assert.deepEqual(labels('agent create'), ['Register an agent']));
  it('everything without a text', () => assert.equal(labels(' ').length, entries.length));
});

describe('groupEntries', () => {
  it('has no empty group', () =>
    assert.deepEqual(
      groupEntries(findEntries(entries, 'audit')).map(({ kind }) => kind),
      ['Pages'],
    ));
});
