/**
 * Ownership of the server. The owning launcher holds a session-level advisory lock for its whole life. A killed launcher loses it with
 * its connection, and the next launcher may adopt the server.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { awaitConnection, type Connection } from './connection.ts';
import type { Server } from './postmaster.ts';

export interface Ownership {
  /** False once another launcher has adopted the server; then only that one may stop it. */
  held(): boolean;
  release(): void;
}

/** 'csgn' in ASCII: an arbitrary number that all launchers share. */
const LOCK_KEY = 0x6373676e;

/** PostgreSQL needs a moment to notice that the connection of a killed launcher is closed. */
const LOCK_TIMEOUT_MS = 2_000;
const RECONNECT_TIMEOUT_MS = 30_000;

export async function acquireLock({ client }: Connection): Promise<boolean> {
  const deadline = Date.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as obtained', [LOCK_KEY]);
    if (rows[0].obtained) return true;
    if (Date.now() > deadline) return false;
    await sleep(100);
  }
}

/** Reacquires the lock when the connection is lost: after a crash of one session PostgreSQL closes all sessions. */
export function keepOwnership(
  server: Server,
  cluster: Cluster,
  initial: Connection,
  { print, onExit }: { print(line: string): void; onExit(): void },
): Ownership {
  let connection = initial;
  let held = true;
  let released = false;

  function watch(): void {
    connection.client.once('end', () => void reacquire().catch((error) => print(String(error))));
  }

  async function reacquire(): Promise<void> {
    while (!released) {
      const answer = await awaitConnection(server, cluster, RECONNECT_TIMEOUT_MS);
      if (answer === 'exited' || answer === 'unresponsive') return report(answer);
      const obtained = await acquireLock(answer).catch(() => 'disconnected' as const);
      if (obtained === true && !released) {
        connection = answer;
        return watch();
      }
      answer.close();
      if (obtained === false) {
        held = false;
        return report('adopted');
      }
    }
  }

  function report(what: 'exited' | 'unresponsive' | 'adopted'): void {
    const description = {
      exited: `exited unexpectedly; see ${cluster.dataDir}.log`,
      unresponsive: 'no longer answers',
      adopted: 'was taken over by another process',
    }[what];
    if (released) return;
    print(`PostgreSQL (pid ${server.pid}) ${description}`);
    if (what === 'exited') onExit();
  }

  watch();
  return {
    held: () => held,
    release() {
      released = true;
      connection.close();
    },
  };
}
