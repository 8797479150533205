/**
 * The server's main process (postmaster): finds it by its data directory, identifies it and stops it. A pid alone proves nothing, since
 * the system may have reused it.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { codeOf } from './errors.ts';

interface PostmasterFile {
  readonly pid: number;
  /** Undefined until the server listens. */
  readonly port: number | undefined;
  /** It accepts no more connections, and exits when its sessions have ended. */
  readonly isStopping: boolean;
}

type Signal = 'SIGINT' | 'SIGQUIT' | 'SIGKILL';

/** Fast shutdown; then immediate shutdown, with recovery at the next start; then a kill. */
const ESCALATION: readonly [Signal, timeoutMs: number][] = [
  ['SIGINT', 10_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
];

export async function readPostmasterFile(clusterPath: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(join(clusterPath, 'postmaster.pid'), 'utf8').catch((error) => {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  });
  // The lines are: pid, data directory, start time, port, socket directory, listen address, memory key, status.
  // The address is added only once the port is bound.
  const [pid, , , port, , address, , status] = text.split('\n');
  if (!Number(pid)) return undefined;
  return {
    pid: Number(pid),
    port: address ? Number(port) : undefined,
    isStopping: status?.trim() === 'stopping',
  };
}

/** The pid of this cluster's running postmaster. Removes a stale postmaster.pid. */
export async function findPostmaster(clusterPath: string): Promise<number | undefined> {
  const file = await readPostmasterFile(clusterPath);
  if (!file) return undefined;
  if (isPostmaster(file.pid, clusterPath)) return file.pid;
  // PostgreSQL ignores a pid without a process, but not one that another program has now.
  await rm(join(clusterPath, 'postmaster.pid'), { force: true });
  return undefined;
}

/** Synchronous, because the exit handler uses it. A zombie does not count. */
export function isPostmaster(pid: number, clusterPath: string): boolean {
  switch (process.platform) {
    case 'linux':
      return isPostgresIn(pid, clusterPath);
    case 'win32':
      return outputOf('tasklist', '/NH', '/FI', `PID eq ${pid}`).includes('postgres.exe');
    default:
      return outputOf('ps', '-ww', '-o', 'command=', '-p', `${pid}`).includes(`-D ${clusterPath}`);
  }
}

/** The working directory of a server is its data directory, even a deleted one. */
function isPostgresIn(pid: number, folder: string): boolean {
  try {
    const [program, workingDir] = [
      readFileSync(`/proc/${pid}/comm`, 'utf8'),
      readlinkSync(`/proc/${pid}/cwd`),
    ];
    return program === 'postgres\n' && (workingDir === folder || workingDir === `${folder} (deleted)`);
  } catch {
    return false;
  }
}

function outputOf(program: string, ...args: string[]): string {
  return spawnSync(program, args, { encoding: 'utf8', windowsHide: true }).stdout ?? '';
}

export interface Server {
  readonly pid: number;
  alive(): boolean;
}

export async function endServer(server: Server, cluster: Cluster): Promise<void> {
  for (const [signal, timeoutMs] of ESCALATION) {
    signalServer(server, cluster, signal);
    const deadline = Date.now() + timeoutMs;
    while (server.alive() && Date.now() < deadline) await sleep(50);
    if (!server.alive()) return;
  }
  throw new Error(`PostgreSQL (pid ${server.pid}, ${cluster.dataDir}) does not exit, even after SIGKILL.`);
}

export function signalServer(server: Server, cluster: Cluster, signal: Signal): void {
  if (!server.alive()) return;
  if (process.platform === 'win32' && signal !== 'SIGKILL') {
    // Windows has no signals: pg_ctl sends them through PostgreSQL's own pipe.
    spawnSync(cluster.binaries.pgCtl, ['kill', signal.slice('SIG'.length), String(server.pid)], {
      windowsHide: true,
    });
    return;
  }
  try {
    process.kill(server.pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}
