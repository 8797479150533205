#!/usr/bin/env node
// Starts Countersign from a checkout (TypeScript source) or from an installed package (the build). When the Node that
// runs this file is older than the one the project needs, the pinned one from node_modules takes over.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { availableParallelism, constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const oldestNode = 24;
const self = fileURLToPath(import.meta.url);

if (Number(process.versions.node.split('.')[0]) >= oldestNode) {
  // Compiled code is kept between starts, which halves the time they take; where it cannot be written, nothing is lost.
  nodeModule.enableCompileCache?.(
    fileURLToPath(new URL('../node_modules/.cache/countersign', import.meta.url)),
  );
  // Tokens are signed on libuv's threads: as many as there are cores, instead of four on every machine. Read when the
  // first of them is needed, so this is early enough.
  process.env.UV_THREADPOOL_SIZE ??= String(Math.max(2, availableParallelism()));
  const source = new URL('../src/main.ts', import.meta.url);
  await import(existsSync(source) ? source.href : new URL('../dist/main.js', import.meta.url).href);
} else {
  runWithPinnedNode();
}

function runWithPinnedNode() {
  const node = pinnedNode();
  if (!node) {
    console.error(
      `countersign: this is Node ${process.versions.node}; Node ${oldestNode} or newer is needed, and the pinned one is not` +
        ' installed. Run npm ci without --omit=optional, or use a newer Node.',
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

function pinnedNode() {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const require = nodeModule.createRequire(import.meta.url);
  for (const name of [`node-${platform}-${process.arch}`, `node-bin-${platform}-${process.arch}`]) {
    try {
      const folder = dirname(require.resolve(`${name}/package.json`));
      return join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    } catch {
      // Not for this platform, or left out at install.
    }
  }
  return undefined;
}
