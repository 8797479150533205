/** The cluster on disk: where it lives, whose it is, and whether it is one we can run. */
import { mkdir, readdir, readFile, readlink, realpath, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Account, canEnter, chooseAccount, isInSharedFolder } from './account.ts';
import { type Binaries, provideBinaries } from './binaries.ts';
import { createCluster } from './create-cluster.ts';
import { codeOf } from './errors.ts';
import { readPassword, settlePassword } from './password.ts';
import { removeUnfinished } from './unfinished.ts';

export interface Cluster {
  /** As asked for. The password and log files are beside it. */
  readonly dataDir: string;
  /** Where the files really are: elsewhere when `dataDir` is a link. */
  readonly path: string;
  readonly password: string;
  readonly account: Account | undefined;
  readonly binaries: Binaries;
}

export interface ClusterRequest {
  dataDir: string;
  /** Skip the flush to disk at the end of initdb. */
  hasty: boolean;
  say: (line: string) => void;
}

export async function prepareCluster({ hasty, say, ...request }: ClusterRequest): Promise<Cluster> {
  const dataDir = resolve(request.dataDir);
  await mkdir(dirname(dataDir), { recursive: true });
  await dropDanglingLink(dataDir, say);
  await removeUnfinished(dataDir);
  const account = await chooseAccount(dataDir);
  const binaries = await provideBinaries(account, dirname(dataDir));
  if (!(await holdsCluster(dataDir, binaries))) {
    say(`creating a PostgreSQL cluster in ${dataDir}`);
    const password = await settlePassword(dataDir);
    await createCluster({ dataDir, password, account, initdb: binaries.initdb, hasty, say });
  }
  const path = await realpath(dataDir);
  await assertReachable(path, account);
  return { dataDir, path, password: await readPassword(dataDir), account, binaries };
}

/** Our link outlives its cluster when /var/lib was thrown away, as with a rebuilt container. */
async function dropDanglingLink(dataDir: string, say: (line: string) => void): Promise<void> {
  const target = await readlink(dataDir).catch(() => undefined);
  if (target === undefined || (await realpath(dataDir).catch(() => undefined))) return;
  if (!isInSharedFolder(target)) throw new Error(`${dataDir} is a link to ${target}, which does not exist.`);
  say(`the cluster that ${dataDir} points to (${target}) is gone`);
  await rm(dataDir, { force: true });
}

async function holdsCluster(dataDir: string, binaries: Binaries): Promise<boolean> {
  const version = await readVersion(dataDir);
  if (version === undefined) {
    await assertEmpty(dataDir);
    return false;
  }
  const ours = binaries.version.split('.')[0];
  if (version === ours) return true;
  throw new Error(
    `${dataDir} was created by PostgreSQL ${version}, and this is PostgreSQL ${ours}. ` +
      'Dump it with the other version, or move it away for a fresh start.',
  );
}

async function readVersion(dataDir: string): Promise<string | undefined> {
  try {
    return (await readFile(join(dataDir, 'PG_VERSION'), 'utf8')).trim();
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined;
    throw new Error(`The data directory ${dataDir} cannot be read; it may belong to another user.`, {
      cause,
    });
  }
}

async function assertEmpty(dataDir: string): Promise<void> {
  const names = await readdir(dataDir).catch(() => []);
  if (names.length > 0) throw new Error(`${dataDir} holds files, but is not a PostgreSQL cluster.`);
}

async function assertReachable(path: string, account: Account | undefined): Promise<void> {
  if (await canEnter(account, dirname(path))) return;
  throw new Error(
    `PostgreSQL runs as uid ${account?.uid} here, which cannot enter the folders above ${path}. ` +
      'Start as an ordinary user, or move the data directory to where that account can reach it.',
  );
}
