/** The server and client programs of PostgreSQL that Debian installs. They refuse to run as root. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { startUnprivileged } from './unprivileged.ts';

const root = '/usr/lib/postgresql';
const needed = ['initdb', 'pg_basebackup', 'pg_dump'];

/** The folder of the newest version; undefined when none is installed. */
export function findPostgresPrograms(): string | undefined {
  if (!existsSync(root)) return undefined;
  return readdirSync(root)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(root, version, 'bin'))
    .find((folder) => needed.every((name) => existsSync(join(folder, name))));
}

export async function runUnprivileged(command: string, args: readonly string[], cwd: string): Promise<void> {
  const program = startUnprivileged(command, args, cwd);
  if ((await program.gone()) !== 0) throw new Error(`${command}: ${program.output()}`);
}

/** A cluster without a password, in `folder`. */
export const initCluster = (programs: string, folder: string, cwd: string): Promise<void> =>
  runUnprivileged(
    join(programs, 'initdb'),
    ['-D', folder, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    cwd,
  );

/** `-c name=value` for each setting. */
export const settingArgs = (settings: Readonly<Record<string, string | number>>): string[] =>
  Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
