/**
 * PostgreSQL for those who have none: `countersign dev` and the tests. One launcher is in charge of a data
 * directory at a time; a server whose launcher was killed is taken over as it is. Nothing here is needed where
 * DATABASE_URL points to a real one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Cluster, prepareCluster } from './cluster.ts';
import { awaitConnection, type Connection } from './connection.ts';
import { claim, keepOwnership } from './ownership.ts';
import { endServer, findPostmaster, isPostmaster, type Server, signalServer } from './postmaster.ts';
import { failedInPassing, type StartedServer, spawnServer } from './server.ts';

export interface EmbeddedPostgres {
  /** postgres://postgres:<password>@127.0.0.1:<port>/<database> */
  readonly url: string;
  readonly pid: number;
  /** Ends the server and waits until it is gone. May be called more than once. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** Where the cluster lives; created when absent. Its `.password` and `.log` are put beside it. */
  dataDir: string;
  /** Created when absent. */
  database?: string;
  /** Extra server settings. They do not reach a server that was already running. */
  settings?: Record<string, string>;
  /** Progress for people. */
  say?: (line: string) => void;
  /** It has ended on its own: nobody stopped it, and nobody else has taken it over. */
  onEnd?: () => void;
}

const START_ATTEMPTS = 6;
const START_PATIENCE = 30_000;
const ADOPTION_PATIENCE = 10_000;

interface Job extends Required<Omit<EmbeddedPostgresOptions, 'dataDir'>> {
  cluster: Cluster;
}

class DataDirInUse extends Error {}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, database = 'countersign', settings = {}, say = () => {}, onEnd = () => {} } = options;
  const cluster = await prepareCluster({ dataDir, hasty: settings.fsync === 'off', say });
  const job: Job = { cluster, database, settings, say, onEnd };
  for (let attempt = 1; ; attempt++) {
    const running = (await adopt(job)) ?? (await start(job, attempt < START_ATTEMPTS));
    if (running) return running;
    await sleep(250);
  }
}

/** Undefined when there is no server to adopt, or no longer. */
async function adopt(job: Job): Promise<EmbeddedPostgres | undefined> {
  const { cluster, say } = job;
  const pid = await findPostmaster(cluster.path);
  if (pid === undefined) return undefined;
  const server = { pid, alive: () => isPostmaster(pid, cluster.path) };
  const answer = await awaitConnection(server, cluster, ADOPTION_PATIENCE);
  if (answer === 'gone') return undefined;
  if (answer === 'silent') {
    say(`stopping the PostgreSQL that a killed process left behind (pid ${pid}), since it does not answer`);
    await endServer(server, cluster);
    return undefined;
  }
  const running = await takeCharge(server, answer, job);
  say(`taking over the PostgreSQL that a killed process left behind (pid ${pid})`);
  return running;
}

/** Undefined when it failed in a way worth another attempt. */
async function start(job: Job, mayTryAgain: boolean): Promise<EmbeddedPostgres | undefined> {
  const { cluster, settings } = job;
  const server = await spawnServer(cluster, settings);
  const forget = endAtExit(server, cluster);
  try {
    const answer = await awaitConnection(server, cluster, START_PATIENCE);
    if (answer === 'gone' && mayTryAgain && failedInPassing(server)) return undefined;
    if (answer === 'gone' || answer === 'silent') throw startFailure(answer, server, cluster);
    return await takeCharge(server, answer, job);
  } catch (error) {
    // A launcher that came at the same moment may have been quicker to claim what we started: theirs now.
    if (!(error instanceof DataDirInUse)) await endServer(server, cluster);
    throw error;
  } finally {
    forget();
  }
}

function startFailure(how: 'gone' | 'silent', server: StartedServer, cluster: Cluster): Error {
  const what = how === 'gone' ? 'ended while starting' : `did not answer within ${START_PATIENCE / 1000} s`;
  return new Error(`PostgreSQL ${what}. The end of ${cluster.dataDir}.log:\n${server.lastWords()}`);
}

async function takeCharge(server: Server, connection: Connection, job: Job): Promise<EmbeddedPostgres> {
  const { cluster, database } = job;
  if (!(await claim(connection))) {
    connection.close();
    throw new DataDirInUse(
      `The data directory ${cluster.dataDir} is in use: another process runs PostgreSQL on it ` +
        `(pid ${server.pid}, port ${connection.port}). Stop that process first, or use another data directory.`,
    );
  }
  const ownership = keepOwnership(server, cluster, connection, job);
  const forget = endAtExit(server, cluster, ownership.held);

  async function end(): Promise<void> {
    // Signalled before the release: a launcher waiting for the lock must not obtain a server about to end.
    const gone = ownership.held() ? endServer(server, cluster) : undefined;
    ownership.release();
    await gone;
    forget();
  }

  let ended: Promise<void> | undefined;
  const stop = () => {
    ended ??= end();
    return ended;
  };
  await createDatabase(connection.client, database).catch(async (error) => {
    await stop();
    throw error;
  });
  const password = encodeURIComponent(cluster.password);
  const url = `postgres://postgres:${password}@127.0.0.1:${connection.port}/${encodeURIComponent(database)}`;
  return { url, pid: server.pid, stop };
}

async function createDatabase(client: pg.Client, name: string): Promise<void> {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
  if (rowCount === 0) await client.query(`create database ${pg.escapeIdentifier(name)}`);
}

/** The last resort of a process that exits without stop(). It can only be asked to end, not waited for. */
function endAtExit(server: Server, cluster: Cluster, ours: () => boolean = () => true): () => void {
  const listener = () => {
    if (ours()) signalServer(server, cluster, 'SIGINT');
  };
  process.on('exit', listener);
  return () => process.off('exit', listener);
}
