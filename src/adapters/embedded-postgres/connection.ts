/** Connections of the launcher itself, and the waiting until a server gives one. */
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
  /** At once, without the goodbye that a server in trouble would not answer. */
  close(): void;
}

/** A server that says it is recovering or shutting down is at work; even so this is the end of patience. */
const BUSY_LIMIT = 5 * 60_000;

/**
 * Waits for a connection to the server. 'gone' when the process ended; 'silent' when it lives, but said nothing
 * for the given time.
 */
export async function awaitConnection(
  server: Server,
  cluster: Cluster,
  patience: number,
): Promise<Connection | 'gone' | 'silent'> {
  const began = Date.now();
  let heard = began;
  while (server.alive()) {
    const file = await readPostmasterFile(cluster.path);
    // Until the file is this server's and names its port, the port may be anybody's.
    if (file?.pid === server.pid && file.port) {
      const answer = await tryConnection(file.port, cluster);
      if (typeof answer === 'object') return answer;
      if (answer === 'busy') heard = Date.now();
    }
    if (Date.now() - heard > patience || Date.now() - began > BUSY_LIMIT) return 'silent';
    await sleep(50);
  }
  return 'gone';
}

async function tryConnection(port: number, cluster: Cluster): Promise<Connection | 'busy' | 'none'> {
  const socket = new Socket();
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: 'postgres',
    password: cluster.password,
    // Advisory locks belong to a database, so every launcher meets in this one.
    database: 'postgres',
    application_name: 'countersign launcher',
    connectionTimeoutMillis: 3_000,
    // Its timer is also what keeps the process running during a query, since the socket does not.
    query_timeout: 30_000,
    ssl: false,
    stream: () => socket,
  });
  // A connection lost later is noticed by its 'end'.
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    socket.destroy();
    return explain(error, cluster);
  }
  // From here on it must not keep the process running.
  socket.unref();
  return { client, port, close: () => socket.destroy() };
}

function explain(error: unknown, cluster: Cluster): 'busy' | 'none' {
  switch (codeOf(error)) {
    case '57P03': // starting up, recovering or shutting down
    case '53300': // every connection is taken
      return 'busy';
    case '28P01':
      throw new Error(
        `PostgreSQL on ${cluster.dataDir} refuses the password in ${passwordFile(cluster.dataDir)}. ` +
          `Put the former file back, or delete ${cluster.dataDir} for a fresh start.`,
        { cause: error },
      );
    default:
      return 'none';
  }
}
