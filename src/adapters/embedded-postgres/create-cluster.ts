/**
 * Creates a cluster atomically: initdb works in a staging folder, which is then renamed. When the server's account cannot enter the
 * requested folder, the cluster is created in the shared folder and linked; deleting the link starts with a new cluster.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, realpath, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Account, canEnter, sharedFolder } from './account.ts';
import { serverEnvironment } from './environment.ts';
import { codeOf } from './errors.ts';
import { moveIntoPlace, removeStale, stagingName } from './staging.ts';

interface CreateRequest {
  dataDir: string;
  password: string;
  account: Account | undefined;
  initdb: string;
  noSync: boolean;
  print: (line: string) => void;
}

export async function createCluster(request: CreateRequest): Promise<void> {
  const { dataDir, account, print } = request;
  // An existing empty folder, also behind a link, is replaced by the cluster.
  const target = await realpath(dataDir).catch(() => dataDir);
  await rmdir(target).catch(() => {});
  if (!account || (await canEnter(account, dirname(target)))) return build(request, target);
  const shared = join(await sharedFolder(account, 'clusters'), randomBytes(8).toString('hex'));
  await build(request, shared);
  await linkOrDiscard(shared, target);
  print(
    `the cluster is in ${await realpath(target)}, because uid ${account.uid} cannot enter ${dirname(target)}`,
  );
}

async function build(request: CreateRequest, target: string): Promise<void> {
  const { account, dataDir, password } = request;
  const label = join(dirname(target), basename(dataDir));
  await removeStale(label);
  const staging = stagingName(label);
  const pwfile = join(staging, 'password');
  const data = join(staging, 'data');
  await mkdir(staging, { mode: 0o700 });
  try {
    // initdb reads the password under its own account, which may lack access to the permanent file.
    await writeFile(pwfile, password, { mode: 0o600 });
    if (account) await chown(pwfile, account.uid, account.gid);
    if (account) await chown(staging, account.uid, account.gid);
    await runInitdb(request, data, pwfile);
    await moveIntoPlace(data, target);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

function runInitdb({ initdb, account, noSync }: CreateRequest, data: string, pwfile: string): Promise<void> {
  const args = [
    `--pgdata=${data}`,
    '--username=postgres',
    `--pwfile=${pwfile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // The built-in C.UTF-8 maps case for all of Unicode and sorts the same on every machine.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--no-instructions',
    ...(noSync ? ['--no-sync'] : []),
  ];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(initdb, args, {
    ...account,
    // The account may lack access to our working directory.
    cwd: dirname(initdb),
    env: serverEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
    windowsHide: true,
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  child.once('error', reject);
  child.once('close', (code, signal) => {
    if (code === 0) resolve();
    else reject(initdbFailure(signal ?? code, stderr.trim()));
  });
  return promise;
}

function initdbFailure(exit: string | number | null, stderr: string): Error {
  // Containers often run under a uid without a user name, which initdb requires.
  const advice = stderr.includes('could not look up effective user')
    ? '. Run as a user listed in /etc/passwd, or use `countersign serve` with DATABASE_URL'
    : '';
  return new Error(`initdb could not create the cluster (${exit}): ${stderr}${advice}`);
}

async function linkOrDiscard(cluster: string, target: string): Promise<void> {
  try {
    await symlink(cluster, target);
  } catch (error) {
    await rm(cluster, { recursive: true, force: true });
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
