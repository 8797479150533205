/**
 * WEB_CONCURRENCY above 1: this process serves nothing itself; it keeps that many serving processes alive and joins
 * their metrics, so that whichever of them is asked for /metrics answers for all. Connections are taken here and handed
 * to them by Node's cluster. What they say and hear is in supervised.ts.
 */
import cluster, { type Worker } from 'node:cluster';
import { subscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { Config } from '../kernel/config/config.ts';
import type { Lifecycle } from '../kernel/lifecycle.ts';
import type { Log } from '../kernel/observability/log.ts';
import {
  joinSnapshots,
  mergeSnapshots,
  type Snapshot,
  withoutGauges,
} from '../kernel/observability/metrics.ts';

export type Message =
  | { readonly kind: 'metrics-wanted'; readonly id: number }
  | { readonly kind: 'metrics'; readonly id: number; readonly text: string }
  | { readonly kind: 'snapshot-wanted'; readonly id: number }
  | { readonly kind: 'snapshot'; readonly id: number; readonly snapshot: Snapshot }
  | { readonly kind: 'connections-wanted'; readonly id: number }
  | { readonly kind: 'connections'; readonly id: number; readonly connections: number }
  | { readonly kind: 'leaving' }
  | { readonly kind: 'leave' };

/** A process that does not answer in this time is stuck or going down, and is not waited for. */
export const answerMs = 2_000;
const restartPauseMs = 1_000;

export async function supervise(config: Config, log: Log, lifecycle: Lifecycle): Promise<void> {
  const door = watchDoor();
  const figures = createFigures();
  const living = new Set<Worker>();
  /** Those that connections are handed to, and those of them that were told to leave. */
  const listening = new Set<Worker>();
  const leaving = new Set<Worker>();
  let stopping = false;
  let served = false;
  let endedBadly = false;

  const start = () => {
    const worker = cluster.fork();
    living.add(worker);
    // Whoever waits for an answer listens, and several may.
    worker.setMaxListeners(0);
    worker.on('listening', () => {
      served = true;
      listening.add(worker);
    });
    worker.on('message', (message: Message) => {
      if (message.kind === 'metrics-wanted') void answerMetrics(worker, message.id);
      if (message.kind === 'leaving') onLeaving(worker);
    });
    // What is said to one who has just died fails; its end is news of its own.
    worker.on('error', () => {});
    worker.on('exit', (code, signal) => void onExit(worker, code, signal));
  };

  const answerMetrics = async (asker: Worker, id: number) =>
    say(asker, { kind: 'metrics', id, text: await figures.read([...living]) });

  /** One may go while another takes its connections. The last waits: the signal was for all of us, and is about to come here. */
  const onLeaving = (worker: Worker) => {
    const others = listening.difference(leaving);
    others.delete(worker);
    if (stopping || others.size === 0) return;
    leaving.add(worker);
    say(worker, { kind: 'leave' });
  };

  const onExit = async (worker: Worker, code: number | null, signal: string | null) => {
    for (const group of [living, listening, leaving]) group.delete(worker);
    figures.bury(worker);
    if (stopping) {
      // By a signal meant for all: it was starting, and had nothing to finish.
      if (code !== 0 && signal !== 'SIGTERM' && signal !== 'SIGINT') endedBadly = true;
      return;
    }
    if (!served) {
      // It has said why it cannot start; the others would fail likewise. Once one has served, the cause is passing.
      process.exitCode = 1;
      await lifecycle.stop().catch(() => {});
      process.exit(1);
    }
    log.error({ worker: worker.process.pid, code, signal }, 'a serving process ended; starting another');
    await sleep(restartPauseMs);
    if (!stopping) start();
  };

  lifecycle.onStop(async () => {
    stopping = true;
    await door.close();
    await untilHandedOut([...listening]);
    await Promise.all(
      [...living].map((worker) => {
        const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
        say(worker, { kind: 'leave' });
        return gone;
      }),
    );
    if (endedBadly) throw new Error('a serving process did not end well');
  });
  // However this process ends: what could not be stopped must not go on without it.
  process.on('exit', () => {
    for (const worker of living) worker.process.kill('SIGKILL');
  });

  for (let count = 0; count < config.webConcurrency; count += 1) start();
  log.info({ processes: config.webConcurrency, port: config.port }, 'supervising');
}

/**
 * The listening socket, which Node's cluster opens in this process and would close only when the last of the others has: too late,
 * since whoever is let in meanwhile is handed to nobody. The cluster has no word for that, so its handle is caught as it is opened.
 * Where the system itself hands out connections (Windows), there is none here.
 */
function watchDoor(): { close(): Promise<void> } {
  let handle: { close(): void } | undefined;
  subscribe('tracing:net.server.listen:asyncEnd', (message) => {
    handle = (message as { server: { _handle?: { close(): void } } }).server._handle;
  });
  return {
    async close() {
      // Whoever knocked before the signal may still wait in the system's queue, and would be reset with it: they are let in first. Of
      // those who knock in the very moment of closing some are lost, as with any listening socket.
      for (let count = 0; count < 4; count += 1) await turn();
      handle?.close();
    },
  };
}

/**
 * The cluster hands a process the next connection when it has taken the last. So once the door is closed and a question goes round
 * without anybody having been handed one since the question before, none is left.
 */
async function untilHandedOut(workers: readonly Worker[]): Promise<void> {
  let known: readonly (number | undefined)[] = [];
  for (let asked = workers; ; ) {
    const answers = await Promise.all(asked.map((worker) => ask(worker, 'connections')));
    const counts = answers.map((answer) => answer?.connections);
    if (counts.every((count, index) => count === known[index])) return;
    // Who is stuck is not asked again.
    asked = asked.filter((_, index) => counts[index] !== undefined);
    known = counts.filter((count) => count !== undefined);
  }
}

/**
 * The figures of all. What a process has counted is kept from one question to the next, so that no counter goes down because one is
 * gone or does not answer. What it counted after the last question is lost with it, and nobody has seen that.
 */
function createFigures() {
  const last = new Map<Worker, Snapshot>();
  let ofTheDead: readonly Snapshot[] = [];

  return {
    async read(workers: readonly Worker[]): Promise<string> {
      const answered = new Set<Worker>();
      await Promise.all(
        workers.map(async (worker) => {
          const answer = await ask(worker, 'snapshot');
          if (!answer || worker.isDead()) return;
          answered.add(worker);
          last.set(worker, answer.snapshot);
        }),
      );
      const ofTheLiving = [...last].map(([worker, snapshot]) =>
        answered.has(worker) ? snapshot : withoutGauges(snapshot),
      );
      return joinSnapshots([...ofTheLiving, ...ofTheDead]);
    },
    bury(worker: Worker): void {
      const snapshot = last.get(worker);
      if (!snapshot) return;
      last.delete(worker);
      const all = [...ofTheDead, withoutGauges(snapshot)];
      ofTheDead = all;
      void mergeSnapshots(all).then((merged) => {
        if (ofTheDead === all) ofTheDead = [merged];
      });
    },
  };
}

type Answer<Kind> = Extract<Message, { kind: Kind }>;

let lastId = 0;

/** Undefined when it does not answer in time, or has ended. */
function ask<Kind extends 'snapshot' | 'connections'>(
  worker: Worker,
  kind: Kind,
): Promise<Answer<Kind> | undefined> {
  const id = ++lastId;
  return new Promise((resolve) => {
    const finish = (answer?: Answer<Kind>) => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      worker.off('exit', onEnd);
      resolve(answer);
    };
    const onMessage = (message: Message) => {
      if (message.kind === kind && message.id === id) finish(message as Answer<Kind>);
    };
    const onEnd = () => finish();
    const timer = setTimeout(onEnd, answerMs);
    worker.on('message', onMessage);
    worker.on('exit', onEnd);
    if (!say(worker, { kind: `${kind}-wanted`, id } as Message)) finish();
  });
}

/** False to those who cannot hear it. */
function say(worker: Worker, message: Message): boolean {
  if (!worker.isConnected()) return false;
  worker.send(message);
  return true;
}
