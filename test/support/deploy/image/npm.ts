/** npm and the versions of Node that run it, as on the machine of a user. */
import { chmodSync, cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { registryVariables, runSync } from '../../child-process.ts';
import { findProgram } from '../../programs.ts';

/** The oldest Node that runs the server; bin/countersign.js has the same number. */
export const oldestNode = 24;

/** npm's script, also when the tests were not started by npm. */
export function findNpm(): string | undefined {
  if (process.env.npm_execpath?.endsWith('.js')) return process.env.npm_execpath;
  const program = findProgram('npm');
  return program && realpathSync(program);
}

/** A Node that the server does not run on, if one is in PATH. */
export function findOlderNode(): string | undefined {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  return candidates.find((path) => {
    if (!existsSync(path)) return false;
    const { stdout, status } = runSync(path, ['--version']);
    return status === 0 && Number(/^v(\d+)/.exec(stdout)?.[1] ?? oldestNode) < oldestNode;
  });
}

/**
 * A folder with `node` and `npm`, which every user can reach, and the variables of a shell that has them. Nothing of the checkout is in
 * PATH.
 */
export function provideNode(folder: string, npm: string, node = process.execPath) {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  cpSync(realpathSync(node), join(bin, 'node'));
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\nexec "${join(bin, 'node')}" "${npm}" "$@"\n`);
  writeFileSync(
    join(bin, 'npx'),
    `#!/bin/sh\nexec "${join(bin, 'node')}" "${npm.replace(/npm-cli\.js$/, 'npx-cli.js')}" "$@"\n`,
  );
  for (const name of ['node', 'npm', 'npx']) chmodSync(join(bin, name), 0o755);
  return {
    node: join(bin, 'node'),
    env: {
      ...registryVariables(),
      PATH: [bin, '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
      HOME: process.env.HOME,
      // `npm ci` of this checkout has filled the cache.
      npm_config_prefer_offline: 'true',
      npm_config_update_notifier: 'false',
    },
  };
}
