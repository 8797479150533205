/**
 * Whose the server is. The launcher in charge holds a session lock for its whole life; a launcher that dies
 * loses it with its connection, whatever killed it, and the next one may take over the server it left behind.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { awaitConnection, type Connection } from './connection.ts';
import type { Server } from './postmaster.ts';

export interface Ownership {
  /** False once another launcher took the server over: it is not ours to end any more. */
  held(): boolean;
  release(): void;
}

/** 'csgn' in ASCII: any number would do, as long as all launchers use the same. */
const LOCK_KEY = 0x6373676e;

/** PostgreSQL takes a moment to notice that the connection of a killed launcher is closed. */
const CLAIM_PATIENCE = 2_000;
const REGAIN_PATIENCE = 30_000;

export async function claim({ client }: Connection): Promise<boolean> {
  const deadline = Date.now() + CLAIM_PATIENCE;
  for (;;) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as obtained', [LOCK_KEY]);
    if (rows[0].obtained) return true;
    if (Date.now() > deadline) return false;
    await sleep(100);
  }
}

/** Keeps a claimed server claimed: after a crash of one of its sessions PostgreSQL drops all the others. */
export function keepOwnership(
  server: Server,
  cluster: Cluster,
  claimed: Connection,
  { say, onEnd }: { say(line: string): void; onEnd(): void },
): Ownership {
  let connection = claimed;
  let held = true;
  let released = false;

  function watch(): void {
    connection.client.once('end', () => void regain().catch((error) => say(String(error))));
  }

  async function regain(): Promise<void> {
    while (!released) {
      const answer = await awaitConnection(server, cluster, REGAIN_PATIENCE);
      if (answer === 'gone' || answer === 'silent') return report(answer);
      const obtained = await claim(answer).catch(() => 'lost again' as const);
      if (obtained === true && !released) {
        connection = answer;
        return watch();
      }
      answer.close();
      if (obtained === false) {
        held = false;
        return report('taken over');
      }
    }
  }

  function report(what: 'gone' | 'silent' | 'taken over'): void {
    const fate = {
      gone: `ended on its own; see ${cluster.dataDir}.log`,
      silent: 'does not answer any more',
      'taken over': 'was taken over by another process',
    }[what];
    if (released) return;
    say(`PostgreSQL (pid ${server.pid}) ${fate}`);
    if (what === 'gone') onEnd();
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
