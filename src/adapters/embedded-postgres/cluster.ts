/** The cluster on disk: its location, owner and version. */
import { mkdir, readdir, readFile, readlink, realpath, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Account, canEnter, chooseAccount, isInSharedFolder } from './account.ts';
import { type Binaries, provideBinaries } from './binaries.ts';
import { createCluster } from './create-cluster.ts';
import { codeOf } from './errors.ts';
import { createPassword, readPassword } from './password.ts';
import { removeStale } from './staging.ts';

export interface Cluster {
  /** As configured. The password and log files are beside it. */
  readonly dataDir: string;
  /** `dataDir` with symbolic links resolved. */
  readonly path: string;
  readonly password: string;
  readonly account: Account | undefined;
  readonly binaries: Binaries;
}

interface ClusterRequest {
  dataDir: string;
  /** Skip the flush to disk at the end of initdb. */
  noSync: boolean;
  print: (line: string) => void;
}

export async function prepareCluster({ noSync, print, ...request }: ClusterRequest): Promise<Cluster> {
  const dataDir = resolve(request.dataDir);
  await mkdir(dirname(dataDir), { recursive: true });
  await removeDanglingLink(dataDir, print);
  await removeStale(dataDir);
  const account = await chooseAccount(dataDir);
  const binaries = await provideBinaries(account, dirname(dataDir));
  if (!(await hasCluster(dataDir, binaries))) {
    print(`creating a PostgreSQL cluster in ${dataDir}`);
    const password = await createPassword(dataDir);
    await createCluster({ dataDir, password, account, initdb: binaries.initdb, noSync, print });
  }
  const path = await realpath(dataDir);
  await assertReachable(path, account);
  return { dataDir, path, password: await readPassword(dataDir), account, binaries };
}

/** The link can outlive its cluster in /var/lib, for example when a container is rebuilt. */
async function removeDanglingLink(dataDir: string, print: (line: string) => void): Promise<void> {
  const target = await readlink(dataDir).catch(() => undefined);
  if (target === undefined || (await realpath(dataDir).catch(() => undefined))) return;
  if (!isInSharedFolder(target))
    throw new Error(
      `${dataDir} is a link to ${target}, which does not exist. Remove the link to create a new cluster.`,
    );
  print(`the cluster that ${dataDir} links to (${target}) no longer exists`);
  await rm(dataDir, { force: true });
}

async function hasCluster(dataDir: string, binaries: Binaries): Promise<boolean> {
  const version = await readVersion(dataDir);
  if (version === undefined) {
    await assertEmpty(dataDir);
    return false;
  }
  const ours = binaries.version.split('.')[0];
  if (version === ours) return true;
  throw new Error(
    `${dataDir} was created by PostgreSQL ${version}, but this is PostgreSQL ${ours}. ` +
      'Dump it with the other version, or move the folder away to create a new cluster.',
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
  if (names.length > 0)
    throw new Error(`${dataDir} contains files but no PostgreSQL cluster. Choose another folder.`);
}

async function assertReachable(path: string, account: Account | undefined): Promise<void> {
  if (await canEnter(account, dirname(path))) return;
  throw new Error(
    `PostgreSQL runs as uid ${account?.uid} here, which cannot enter the folders above ${path}. ` +
      'Start as an ordinary user, or move the data directory to a folder that the account can enter.',
  );
}
