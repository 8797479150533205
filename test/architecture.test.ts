import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenArrows } from './support/import-rules.ts';

test('the arrows of the house hold', () => {
  assert.deepEqual(brokenArrows(new URL('../', import.meta.url)), []);
});

test('every kind of broken arrow is found in a house built wrong on purpose', () => {
  assert.deepEqual(brokenArrows(new URL('fixtures/broken-tree/', import.meta.url)), [
    'adapters/driver.ts: imports features/alpha/feature.ts',
    'app.ts: imports commands/run.ts',
    'commands/run.ts: prints past commands/terminal.ts',
    'contract/words.ts: imports kernel/thing.ts',
    'features/alpha/feature.ts: imports features/beta/feature.ts',
    'features/alpha/feature.ts: imports adapters/driver.ts',
    'features/alpha/loops.ts: uses timers',
    'features/alpha/loops.ts: uses the machine',
    'features/alpha/service.ts: writes SQL outside a store',
    'features/alpha/service.ts: uses process.env',
    'features/alpha/service.ts: uses Date.now',
    'features/alpha/service.ts: uses randomness',
    'features/beta/feature.ts: uses fetch',
    'features/beta/routes.ts: catches errors in routes',
    'features/beta/utils.ts: has a name that says nothing',
    'kernel/thing.ts: imports features/alpha/feature.ts',
    'kernel/thing.ts: imports the driver pg',
  ]);
});
