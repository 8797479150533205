/** Starts the server's main process and captures its log. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import type { Cluster } from './cluster.ts';
import { serverEnvironment } from './environment.ts';
import type { Server } from './postmaster.ts';

export interface StartedServer extends Server {
  /** The last lines that it wrote to the log since its start. */
  logTail(): string;
}

const MAX_LOG_BYTES = 4 * 1024 * 1024;

/** Log lines of start failures that a retry may overcome. */
const TRANSIENT =
  /could not bind|could not create any TCP\/IP sockets|lock file .* already exists|pre-existing shared memory block/;

export function isTransientFailure(server: StartedServer): boolean {
  return TRANSIENT.test(server.logTail());
}

export async function spawnServer(cluster: Cluster, extra: Record<string, string>): Promise<StartedServer> {
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(await freePort()),
    unix_socket_directories: '',
    synchronous_commit: 'on',
    ...extra,
  };
  const log = await openLog(`${cluster.dataDir}.log`);
  try {
    const start = (await log.stat()).size;
    const child = spawnDetached(cluster, settings, log);
    await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
    return {
      pid: child.pid as number,
      alive: () => child.exitCode === null && child.signalCode === null,
      logTail: () => tail(readFileSync(`${cluster.dataDir}.log`).subarray(start).toString()),
    };
  } finally {
    await log.close();
  }
}

/** In its own process group: Ctrl-C must reach only the launcher, so that requests in flight can finish. */
function spawnDetached(cluster: Cluster, settings: Record<string, string>, log: FileHandle) {
  const { account, binaries, path } = cluster;
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(binaries.postgres, ['-D', path, ...args], {
    ...account,
    cwd: dirname(binaries.postgres),
    env: serverEnvironment(),
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    windowsHide: true,
  });
  child.unref();
  return child;
}

async function openLog(file: string): Promise<FileHandle> {
  const log = await open(file, 'a', 0o600);
  if ((await log.stat()).size > MAX_LOG_BYTES) await log.truncate();
  return log;
}

function tail(text: string): string {
  return text.trim().split('\n').slice(-15).join('\n');
}

function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const probe = createServer().once('error', reject);
  probe.listen(0, '127.0.0.1', () => {
    const address = probe.address();
    probe.close(() =>
      address && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
    );
  });
  return promise;
}
