import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findConsoleViolations } from './support/rules/console-rules.ts';
import { findViolations } from './support/rules/import-rules.ts';

test('the source tree keeps the architecture rules', () => {
  assert.deepEqual(findViolations(new URL('../', import.meta.url)), []);
});

test('each rule finds its violation in a tree that breaks all of them', () => {
  assert.deepEqual(findViolations(new URL('fixtures/broken-tree/', import.meta.url)), [
    'adapters/driver.ts: imports features/alpha/feature.ts',
    'app.ts: imports commands/run.ts',
    'commands/run.ts: prints past commands/terminal.ts',
    'commands/run.ts: uses the process instead of its Io',
    'contract/words.ts: imports kernel/thing.ts',
    'features/alpha/feature.ts: imports features/beta/feature.ts',
    'features/alpha/feature.ts: imports adapters/driver.ts',
    'features/alpha/loops.ts: uses timers',
    'features/alpha/loops.ts: uses the machine',
    'features/alpha/service.ts: writes SQL outside a store',
    'features/alpha/service.ts: uses process.env',
    'features/alpha/service.ts: uses Date.now',
    'features/alpha/service.ts: uses randomness',
    'features/audit/chain/links.ts: imports features/audit/log/append.ts against the order',
    'features/beta/feature.ts: uses fetch',
    'features/beta/routes.ts: imports its own feature.ts',
    'features/beta/routes.ts: catches errors in routes',
    'features/beta/service.ts: imports features/alpha/feature.ts',
    'features/beta/utils.ts: has a name that says nothing',
    'kernel/clock.ts: imports kernel/http/route.ts against the order',
    'kernel/thing.ts: imports features/alpha/feature.ts',
    'kernel/thing.ts: imports the driver pg',
    'import cycle: src/adapters/driver.ts → src/features/alpha/feature.ts',
    'import cycle: bench/run.ts → bench/tokens.ts',
    'test/hang.ts: starts a program without a time limit',
  ]);
});

test('the console keeps its rules', () => {
  assert.deepEqual(findConsoleViolations(new URL('../', import.meta.url)), []);
});

test('each rule of the console finds its violation', () => {
  assert.deepEqual(findConsoleViolations(new URL('fixtures/broken-tree/', import.meta.url)), [
    'console/src/api/request.ts: imports app/shell.tsx',
    'console/src/components/Name.tsx: imports pages/one/page.ts',
    'console/src/components/Name.tsx: uses markup from text',
    'console/src/pages/one/OnePage.tsx: imports pages/two/TwoPage.tsx',
    'console/src/pages/one/OnePage.tsx: uses requests past src/api',
    'console/src/pages/two/TwoPage.tsx: uses code from text',
    'console/src/pages/two/utils.ts: has a name that says nothing',
    'console import cycle: api/request.ts → app/shell.tsx',
    'console import cycle: pages/one/OnePage.tsx → pages/one/page.ts',
  ]);
});

test('only the granting rule ends grants: taking one away needs the right to make it', () => {
  const root = fileURLToPath(new URL('../src/', import.meta.url));
  const ending = globSync('**/*.ts', { cwd: root }).filter(
    (file) =>
      !file.endsWith('.test.ts') &&
      /\b(?:deleteGrants|narrowGrants)\b/.test(readFileSync(join(root, file), 'utf8')),
  );
  assert.deepEqual(ending.sort(), [
    'features/resources/granting-rule.ts',
    'features/resources/grants-store.ts',
  ]);
});
