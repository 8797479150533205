#!/usr/bin/env node
// Starts Countersign from a checkout (TypeScript source) or from an installed package (the build). When the Node that
// runs this file is too old, it starts the pinned Node of node_modules instead.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { availableParallelism, constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const oldestNode = 24;
const self = fileURLToPath(import.meta.url);

if (Number(process.versions.node.split('.')[0]) >= oldestNode) {
  // The compile cache halves the start time; an unwritable folder only disables it.
  nodeModule.enableCompileCache?.(
    fileURLToPath(new URL('../node_modules/.cache/countersign', import.meta.url)),
  );
  // libuv's threads sign tokens: one per core instead of four on every machine. libuv reads this when it starts the first thread.
  process.env.UV_THREADPOOL_SIZE ??= String(Math.max(2, availableParallelism()));
  const source = new URL('../src/main.ts', import.meta.url);
  await import(existsSync(source) ? source.href : new URL('../dist/src/main.js', import.meta.url).href);
} else {
  runWithPinnedNode();
}

function runWithPinnedNode() {
  const node = pinnedNode();
  if (!node) {
    console.error(
      `countersign: needs Node ${oldestNode} or newer, but this is Node ${process.versions.node}, and the Node that comes with Countersign is not installed. ${waysToGetNode()}`,
    );
    process.exit(1);
  }
  const child = spawn(node, [...process.execArgv, self, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`countersign: cannot run ${node}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 1)));
}

/** A package that was installed with --omit=optional, which npm does not remember, or a platform without a pinned Node. */
function waysToGetNode() {
  const newer = `Run it with Node ${oldestNode} or newer`;
  if (existsSync(new URL('../src/main.ts', import.meta.url)))
    return `${newer}, or run npm ci without --omit=optional.`;
  const { optionalDependencies } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  );
  const name = packageNames().find((candidate) => optionalDependencies[candidate]);
  return name
    ? `${newer}, or add one: npm install --omit=optional ${name}@${optionalDependencies[name]}`
    : `${newer}.`;
}

function packageNames() {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  return [`node-${platform}-${process.arch}`, `node-bin-${platform}-${process.arch}`];
}

function pinnedNode() {
  const require = nodeModule.createRequire(import.meta.url);
  for (const name of packageNames()) {
    try {
      const folder = dirname(require.resolve(`${name}/package.json`));
      return join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    } catch {
      // Not made for this platform, or not installed.
    }
  }
  return undefined;
}
