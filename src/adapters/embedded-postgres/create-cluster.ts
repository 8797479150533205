/**
 * A cluster appears whole or not at all: initdb works in an unfinished folder, and what it made is renamed.
 * Where the server's account cannot enter the folder asked for, the cluster goes to the shared folder, and a
 * link shows where it went; deleting the link is then a fresh start.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, realpath, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Account, canEnter, sharedFolder } from './account.ts';
import { serverEnvironment } from './environment.ts';
import { codeOf } from './errors.ts';
import { finish, removeUnfinished, unfinishedName } from './unfinished.ts';

export interface Blueprint {
  dataDir: string;
  password: string;
  account: Account | undefined;
  initdb: string;
  hasty: boolean;
  say: (line: string) => void;
}

export async function createCluster(blueprint: Blueprint): Promise<void> {
  const { dataDir, account, say } = blueprint;
  // An empty folder made beforehand stands for the cluster to come, also when it is reached through a link.
  const place = await realpath(dataDir).catch(() => dataDir);
  await rmdir(place).catch(() => {});
  if (!account || (await canEnter(account, dirname(place)))) return build(blueprint, place);
  const elsewhere = join(await sharedFolder(account, 'clusters'), randomBytes(8).toString('hex'));
  await build(blueprint, elsewhere);
  await linkOrDiscard(elsewhere, place);
  say(`it is kept in ${await realpath(place)}, since uid ${account.uid} cannot enter ${dirname(place)}`);
}

async function build(blueprint: Blueprint, target: string): Promise<void> {
  const { account, dataDir, password } = blueprint;
  const label = join(dirname(target), basename(dataDir));
  await removeUnfinished(label);
  const workshop = unfinishedName(label);
  const pwfile = join(workshop, 'password');
  const data = join(workshop, 'data');
  await mkdir(workshop, { mode: 0o700 });
  try {
    // initdb reads the password as its own account, which may be unable to reach the lasting copy.
    await writeFile(pwfile, password, { mode: 0o600 });
    if (account) await chown(pwfile, account.uid, account.gid);
    if (account) await chown(workshop, account.uid, account.gid);
    await runInitdb(blueprint, data, pwfile);
    await finish(data, target);
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

function runInitdb({ initdb, account, hasty }: Blueprint, data: string, pwfile: string): Promise<void> {
  const args = [
    `--pgdata=${data}`,
    '--username=postgres',
    `--pwfile=${pwfile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // The built-in C.UTF-8 folds case for all of Unicode and sorts the same on every machine.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--no-instructions',
    ...(hasty ? ['--no-sync'] : []),
  ];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(initdb, args, {
    ...account,
    // Our own working directory may be closed to the account.
    cwd: dirname(initdb),
    env: serverEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
    windowsHide: true,
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaint += text;
  });
  child.once('error', reject);
  child.once('close', (code, signal) => {
    if (code === 0) resolve();
    else reject(initdbFailure(signal ?? code, complaint.trim()));
  });
  return promise;
}

function initdbFailure(how: string | number | null, complaint: string): Error {
  // Containers are often run under a number that no user has, and initdb insists on a name.
  const advice = complaint.includes('could not look up effective user')
    ? '. Run as a user listed in /etc/passwd, or use `countersign serve` with DATABASE_URL'
    : '';
  return new Error(`initdb could not create the cluster (${how}): ${complaint}${advice}`);
}

async function linkOrDiscard(cluster: string, place: string): Promise<void> {
  try {
    await symlink(cluster, place);
  } catch (error) {
    await rm(cluster, { recursive: true, force: true });
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
