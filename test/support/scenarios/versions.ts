/** Two versions of Countersign side by side: folders that differ in their migrations, and nodes that run from them. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort, type Program, type Service, startProgram, untilHealthy } from '../programs.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A folder that is used like an installed version. */
export interface Version {
  readonly folder: string;
  readonly migrations: readonly string[];
}

export const migrationsIn = (folder: string): string[] =>
  readdirSync(join(folder, 'migrations'))
    .filter((file) => file.endsWith('.sql'))
    .sort();

/** This source tree with further migrations. Everything else is linked, not copied. */
export function versionWith(further: Record<string, string>): Version {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-version-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of readdirSync(root))
    if (name !== 'migrations' && name !== '.git') symlinkSync(join(root, name), join(folder, name));
  mkdirSync(join(folder, 'migrations'));
  for (const file of migrationsIn(root))
    symlinkSync(join(root, 'migrations', file), join(folder, 'migrations', file));
  for (const [file, text] of Object.entries(further)) writeFileSync(join(folder, 'migrations', file), text);
  return { folder, migrations: migrationsIn(folder) };
}

/** Modules keep the path of the folder instead of that of the link, so each version finds its own migrations. */
const keepLinks = ['--liftoff-only', '--preserve-symlinks', '--preserve-symlinks-main'];

export const startVersion = (
  { folder }: Version,
  args: readonly string[],
  env: Record<string, string>,
): Program =>
  startProgram(process.execPath, [...keepLinks, join(folder, 'bin/countersign.js'), ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, CONSOLE_BUILD: 'false', ...env },
  });

/** `serve` of this version on a port of its own, once it answers. */
export async function serveVersion(version: Version, env: Record<string, string>): Promise<Service> {
  const port = await freePort();
  const program = startVersion(version, ['serve'], { HOST: '127.0.0.1', PORT: String(port), ...env });
  await untilHealthy(port, program);
  return { program, port, url: `http://127.0.0.1:${port}` };
}
