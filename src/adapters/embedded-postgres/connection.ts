/** The launcher's own connection, and the wait until the server accepts it. */
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Cluster } from './cluster.ts';
import { codeOf } from './errors.ts';
import { passwordFile } from './password.ts';
import { readPostmasterFile, type Server } from './postmaster.ts';

export interface Connection {
  readonly client: pg.Client;
  readonly port: number;
  /** Closes the socket at once, without a Terminate message that a failing server would not answer. */
  close(): void;
}

/** A server that reports recovery or shutdown is still waited for, up to this time. */
const BUSY_TIMEOUT_MS = 5 * 60_000;

/**
 * Waits for a connection to the server. 'exited' when the process ended; 'unresponsive' when it runs but did not answer within the
 * timeout, or is stopping and the caller does not wait for that.
 */
export async function awaitConnection(
  server: Server,
  cluster: Cluster,
  timeoutMs: number,
  { waitsForStop = true } = {},
): Promise<Connection | 'exited' | 'unresponsive'> {
  const startedAt = Date.now();
  let answeredAt = startedAt;
  while (server.alive()) {
    const file = await readPostmasterFile(cluster.path);
    if (!waitsForStop && file?.isStopping) return 'unresponsive';
    // Until the file is this server's and has its port, the port may belong to another program.
    if (file?.pid === server.pid && file.port) {
      const answer = await tryConnection(file.port, cluster);
      if (typeof answer === 'object') return answer;
      if (answer === 'busy') answeredAt = Date.now();
    }
    if (Date.now() - answeredAt > timeoutMs || Date.now() - startedAt > BUSY_TIMEOUT_MS)
      return 'unresponsive';
    await sleep(50);
  }
  return 'exited';
}

async function tryConnection(port: number, cluster: Cluster): Promise<Connection | 'busy' | 'none'> {
  const socket = new Socket();
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: 'postgres',
    password: cluster.password,
    // Advisory locks are per database, so every launcher uses this one.
    database: 'postgres',
    application_name: 'countersign launcher',
    connectionTimeoutMillis: 3_000,
    // The timer also keeps the process running during a query, since the socket does not.
    query_timeout: 30_000,
    ssl: false,
    stream: () => socket,
  });
  // A lost connection is handled by its 'end' event.
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    socket.destroy();
    return classify(error, cluster);
  }
  // The connection must not keep the process running.
  socket.unref();
  return { client, port, close: () => socket.destroy() };
}

function classify(error: unknown, cluster: Cluster): 'busy' | 'none' {
  switch (codeOf(error)) {
    case '57P03': // starting up, recovering or shutting down
    case '53300': // all connections are in use
      return 'busy';
    case '28P01':
      throw new Error(
        `PostgreSQL on ${cluster.dataDir} refuses the password in ${passwordFile(cluster.dataDir)}. ` +
          `Restore the previous file, or delete ${cluster.dataDir} to create a new cluster.`,
        { cause: error },
      );
    default:
      return 'none';
  }
}
