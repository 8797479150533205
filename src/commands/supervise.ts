/**
 * WEB_CONCURRENCY above 1: this process serves nothing itself; it keeps that many serving processes alive and joins
 * their metrics, so that whichever of them is asked for /metrics answers for all.
 */
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../kernel/config.ts';
import type { Lifecycle } from '../kernel/lifecycle.ts';
import type { Log } from '../kernel/log.ts';
import { joinSnapshots, type Metrics, type Snapshot } from '../kernel/metrics.ts';

type Message =
  | { readonly kind: 'metrics-wanted'; readonly id: number }
  | { readonly kind: 'metrics'; readonly id: number; readonly text: string }
  | { readonly kind: 'snapshot-wanted'; readonly id: number }
  | { readonly kind: 'snapshot'; readonly id: number; readonly snapshot: Snapshot };

/** A process that does not answer in this time (it is stuck or going down) is left out of the sum. */
const answerMs = 2_000;
const restartPauseMs = 1_000;

export async function supervise(config: Config, log: Log, lifecycle: Lifecycle): Promise<void> {
  let stopping = false;
  let served = false;

  const start = () => {
    const worker = cluster.fork();
    worker.on('listening', () => {
      served = true;
    });
    worker.on('message', (message: Message) => {
      if (message.kind === 'metrics-wanted') void answerMetrics(worker, message.id);
    });
    worker.on('exit', (code, signal) => void onExit(worker, code, signal));
  };

  const onExit = async (worker: Worker, code: number, signal: string) => {
    if (stopping) return;
    if (!served) {
      // It has said why it cannot start; the others would fail likewise. Once one has served, the cause is passing.
      process.exitCode = 1;
      await lifecycle.stop();
      process.exit(1);
    }
    log.error({ worker: worker.process.pid, code, signal }, 'a serving process ended; starting another');
    await sleep(restartPauseMs);
    if (!stopping) start();
  };

  lifecycle.onStop(async () => {
    stopping = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    await Promise.all(
      workers.map((worker) => {
        const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
        worker.process.kill('SIGTERM');
        return gone;
      }),
    );
  });

  for (let count = 0; count < config.webConcurrency; count += 1) start();
  log.info({ processes: config.webConcurrency, port: config.port }, 'supervising');
}

async function answerMetrics(asker: Worker, id: number): Promise<void> {
  const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected());
  const snapshots = await Promise.all(workers.map((worker) => (worker ? snapshotOf(worker) : undefined)));
  const text = await joinSnapshots(snapshots.filter((snapshot) => snapshot !== undefined));
  send(asker, { kind: 'metrics', id, text });
}

let lastId = 0;

function snapshotOf(worker: Worker): Promise<Snapshot | undefined> {
  const id = ++lastId;
  return new Promise((resolve) => {
    const finish = (snapshot?: Snapshot) => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      resolve(snapshot);
    };
    const onMessage = (message: Message) => {
      if (message.kind === 'snapshot' && message.id === id) finish(message.snapshot);
    };
    const timer = setTimeout(finish, answerMs);
    worker.on('message', onMessage);
    send(worker, { kind: 'snapshot-wanted', id });
  });
}

const send = (worker: Worker, message: Message) => worker.isConnected() && worker.send(message);

/** In a serving process: everyone's figures, by way of the supervisor. */
export function askSupervisorForMetrics(own: Metrics): Promise<string> {
  const id = ++lastId;
  return new Promise((resolve) => {
    const finish = (text: Promise<string>) => {
      clearTimeout(timer);
      process.off('message', onMessage);
      resolve(text);
    };
    const onMessage = (message: Message) => {
      if (message.kind === 'metrics' && message.id === id) finish(Promise.resolve(message.text));
    };
    // Without the supervisor the figures of this process are better than none.
    const timer = setTimeout(() => finish(own.text()), 2 * answerMs);
    process.on('message', onMessage);
    process.send?.({ kind: 'metrics-wanted', id } satisfies Message);
  });
}

/** In a serving process: its own figures, whenever the supervisor asks. */
export function answerSupervisor(own: Metrics): void {
  process.on('message', async (message: Message) => {
    if (message.kind !== 'snapshot-wanted') return;
    process.send?.({ kind: 'snapshot', id: message.id, snapshot: await own.snapshot() } satisfies Message);
  });
}
