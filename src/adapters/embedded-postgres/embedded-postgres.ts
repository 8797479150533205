/**
 * An embedded PostgreSQL for `countersign dev` and the tests; `serve` uses DATABASE_URL instead. One launcher owns a data directory at
 * a time. The next launcher adopts a server whose launcher was killed.
 */
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Cluster, prepareCluster } from './cluster.ts';
import { awaitConnection, type Connection } from './connection.ts';
import { acquireLock, keepOwnership } from './ownership.ts';
import { readPassword } from './password.ts';
import {
  endServer,
  findPostmaster,
  isPostmaster,
  readPostmasterFile,
  type Server,
  signalServer,
} from './postmaster.ts';
import { isTransientFailure, type StartedServer, spawnServer } from './server.ts';

export interface EmbeddedPostgres {
  /** postgres://postgres:<password>@127.0.0.1:<port>/<database> */
  readonly url: string;
  readonly pid: number;
  /** Stops the server and waits until it has exited. Idempotent. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** The cluster's folder; created when missing. Its `.password` and `.log` files are beside it. */
  dataDir: string;
  /** Created when missing. */
  database?: string;
  /** Extra server settings. An adopted server keeps its own. */
  settings?: Record<string, string>;
  /** Prints progress for people. */
  print?: (line: string) => void;
  /** The server exited unexpectedly, and no other launcher has adopted it. */
  onExit?: () => void;
}

const START_ATTEMPTS = 6;
const START_TIMEOUT_MS = 30_000;
const ADOPTION_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 30_000;

interface Launch extends Required<Omit<EmbeddedPostgresOptions, 'dataDir'>> {
  cluster: Cluster;
}

class DataDirInUse extends Error {}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, database = 'countersign', settings = {}, print = () => {}, onExit = () => {} } = options;
  const cluster = await prepareCluster({ dataDir, noSync: settings.fsync === 'off', print });
  const launch: Launch = { cluster, database, settings, print, onExit };
  for (let attempt = 1; ; attempt++) {
    const running = (await adopt(launch)) ?? (await start(launch, attempt < START_ATTEMPTS));
    if (running) return running;
    await sleep(250);
  }
}

/** The address of the server that another process runs on the data directory. Changes nothing. */
export async function findRunningPostgres({
  dataDir,
  database = 'countersign',
}: Pick<EmbeddedPostgresOptions, 'dataDir' | 'database'>): Promise<string | undefined> {
  const path = await realpath(dataDir).catch(() => resolve(dataDir));
  const file = await readPostmasterFile(path);
  if (!file?.port || file.isStopping || !isPostmaster(file.pid, path)) return undefined;
  return urlOf({ port: file.port, password: await readPassword(resolve(dataDir)), database });
}

/** Undefined when there is no running server to adopt. */
async function adopt(launch: Launch): Promise<EmbeddedPostgres | undefined> {
  const { cluster, print } = launch;
  const pid = await findPostmaster(cluster.path);
  if (pid === undefined) return undefined;
  const server = { pid, alive: () => isPostmaster(pid, cluster.path) };
  if (await isStopping(cluster, pid)) return awaitExit(server, launch);
  const answer = await awaitConnection(server, cluster, ADOPTION_TIMEOUT_MS, { waitsForStop: false });
  if (answer === 'exited') return undefined;
  if (await isStopping(cluster, pid)) {
    if (typeof answer === 'object') answer.close();
    return awaitExit(server, launch);
  }
  if (answer === 'unresponsive') {
    print(`stopping a PostgreSQL left over from a killed process (pid ${pid}), because it does not answer`);
    await endServer(server, cluster);
    return undefined;
  }
  try {
    const running = await takeOwnership(server, answer, launch);
    print(`using the running PostgreSQL of a killed process (pid ${pid})`);
    return running;
  } catch (error) {
    // Its launcher has told it to stop in the meantime, and the connection has ended.
    if (!server.alive() || (await isStopping(cluster, pid))) return awaitExit(server, launch);
    throw error;
  }
}

async function isStopping({ path }: Cluster, pid: number): Promise<boolean> {
  const file = await readPostmasterFile(path);
  return file?.pid === pid && file.isStopping;
}

/** The last launcher is stopping the server. Another one starts when it has exited. */
async function awaitExit(server: Server, { cluster, print }: Launch): Promise<undefined> {
  if (server.alive()) print(`waiting for the last PostgreSQL to stop (pid ${server.pid})`);
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while (server.alive() && Date.now() < deadline) await sleep(100);
  if (server.alive()) await endServer(server, cluster);
  return undefined;
}

/** Undefined after a transient failure that is worth a retry. */
async function start(launch: Launch, mayRetry: boolean): Promise<EmbeddedPostgres | undefined> {
  const { cluster, settings } = launch;
  const server = await spawnServer(cluster, settings);
  const removeExitHandler = endAtExit(server, cluster);
  try {
    const answer = await awaitConnection(server, cluster, START_TIMEOUT_MS);
    if (answer === 'exited' && mayRetry && isTransientFailure(server)) return undefined;
    if (answer === 'exited' || answer === 'unresponsive') throw startFailure(answer, server, cluster);
    return await takeOwnership(server, answer, launch);
  } catch (error) {
    // A concurrent launcher may have locked the server that we started; then it owns the server.
    if (!(error instanceof DataDirInUse)) await endServer(server, cluster);
    throw error;
  } finally {
    removeExitHandler();
  }
}

function startFailure(how: 'exited' | 'unresponsive', server: StartedServer, cluster: Cluster): Error {
  const what =
    how === 'exited' ? 'exited while starting' : `did not answer within ${START_TIMEOUT_MS / 1000} s`;
  return new Error(`PostgreSQL ${what}. The end of ${cluster.dataDir}.log:\n${server.logTail()}`);
}

async function takeOwnership(
  server: Server,
  connection: Connection,
  launch: Launch,
): Promise<EmbeddedPostgres> {
  const { cluster, database } = launch;
  if (!(await acquireLock(connection))) {
    connection.close();
    throw new DataDirInUse(
      `The data directory ${cluster.dataDir} is in use: another process runs PostgreSQL on it ` +
        `(pid ${server.pid}, port ${connection.port}). Stop that process first, or use another data directory.`,
    );
  }
  const ownership = keepOwnership(server, cluster, connection, launch);
  const removeExitHandler = endAtExit(server, cluster, ownership.held);

  async function end(): Promise<void> {
    // Signal before releasing the lock: a waiting launcher must not adopt a server that is shutting down.
    const exited = ownership.held() ? endServer(server, cluster) : undefined;
    ownership.release();
    await exited;
    removeExitHandler();
  }

  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= end();
    return stopped;
  };
  await createDatabase(connection.client, database).catch(async (error) => {
    await stop();
    throw error;
  });
  const url = urlOf({ port: connection.port, password: cluster.password, database });
  return { url, pid: server.pid, stop };
}

const urlOf = ({ port, password, database }: { port: number; password: string; database: string }) =>
  `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/${encodeURIComponent(database)}`;

async function createDatabase(client: pg.Client, name: string): Promise<void> {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
  if (rowCount === 0) await client.query(`create database ${pg.escapeIdentifier(name)}`);
}

/** For a process that exits without stop(): signals the server, but cannot wait for it. */
function endAtExit(server: Server, cluster: Cluster, isOwner: () => boolean = () => true): () => void {
  const listener = () => {
    if (isOwner()) signalServer(server, cluster, 'SIGINT');
  };
  process.on('exit', listener);
  return () => process.off('exit', listener);
}
