/**
 * The supervisor of WEB_CONCURRENCY > 1. It serves nothing. Its cluster workers are the serving processes. It restarts workers that
 * exit and merges their metrics: each worker asks the supervisor for GET /metrics and answers for all. Node's cluster accepts
 * connections here and hands them to the workers (round robin). supervised.ts is the worker's end of the messages.
 */
import cluster, { type Worker } from 'node:cluster';
import { subscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises';
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
  | { readonly kind: 'metrics-request'; readonly id: number }
  | { readonly kind: 'metrics'; readonly id: number; readonly text: string }
  | { readonly kind: 'snapshot-request'; readonly id: number }
  | { readonly kind: 'snapshot'; readonly id: number; readonly snapshot: Snapshot }
  | { readonly kind: 'connections-request'; readonly id: number }
  | { readonly kind: 'connections'; readonly id: number; readonly connections: number }
  /** The worker got a signal and asks to stop. */
  | { readonly kind: 'stop-request' }
  /** The supervisor was told to stop: /readyz becomes 503. */
  | { readonly kind: 'drain' }
  | { readonly kind: 'stop' };

/** A worker that does not answer within this time is stuck or exiting; the supervisor goes on without it. */
export const replyTimeoutMs = 2_000;
const restartDelayMs = 1_000;

export async function supervise(config: Config, log: Log, lifecycle: Lifecycle): Promise<void> {
  const listeningSocket = captureListeningSocket();
  const metrics = createMergedMetrics();
  const running = new Set<Worker>();
  /** The cluster hands connections to these. */
  const listening = new Set<Worker>();
  const toldToStop = new Set<Worker>();
  let stopping = false;
  let hasServed = false;
  let badExit = false;

  const start = () => {
    const worker = cluster.fork();
    running.add(worker);
    // Each pending request adds a listener.
    worker.setMaxListeners(0);
    worker.on('listening', () => {
      hasServed = true;
      listening.add(worker);
    });
    worker.on('message', (message: Message) => {
      if (message.kind === 'metrics-request') void sendMetrics(worker, message.id);
      if (message.kind === 'stop-request') onStopRequest(worker);
    });
    // Sending to a worker that has just exited fails; the exit event follows.
    worker.on('error', () => {});
    worker.on('exit', (code, signal) => void onExit(worker, code, signal));
  };

  const sendMetrics = async (worker: Worker, id: number) =>
    send(worker, { kind: 'metrics', id, text: await metrics.read([...running]) });

  /**
   * A worker may stop while another one takes its connections. The last one waits: all processes got the signal, and the
   * supervisor is about to get it too.
   */
  const onStopRequest = (worker: Worker) => {
    const others = listening.difference(toldToStop);
    others.delete(worker);
    if (stopping || others.size === 0) return;
    toldToStop.add(worker);
    send(worker, { kind: 'stop' });
  };

  const onExit = async (worker: Worker, code: number | null, signal: string | null) => {
    for (const group of [running, listening, toldToStop]) group.delete(worker);
    metrics.retire(worker);
    if (stopping) {
      // A worker that a signal killed during its start had no requests to finish.
      if (code !== 0 && signal !== 'SIGTERM' && signal !== 'SIGINT') badExit = true;
      return;
    }
    if (!hasServed) {
      // The worker has printed why it cannot start, and the others would fail too. After one has served, the cause is temporary.
      process.exitCode = 1;
      await lifecycle.stop().catch(() => {});
      process.exit(1);
    }
    log.error({ worker: worker.process.pid, code, signal }, 'serving process exited; starting another');
    await sleep(restartDelayMs);
    if (!stopping) start();
  };

  lifecycle.onStop(async () => {
    stopping = true;
    for (const worker of running) send(worker, { kind: 'drain' });
    await sleep(config.shutdownDelaySeconds * 1_000);
    await listeningSocket.close();
    await allConnectionsHandedOver([...listening]);
    await Promise.all(
      [...running].map((worker) => {
        const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
        send(worker, { kind: 'stop' });
        return exited;
      }),
    );
    if (badExit) throw new Error('a serving process exited with an error');
  });
  // No worker outlives the supervisor, even when it could not be stopped.
  process.on('exit', () => {
    for (const worker of running) worker.process.kill('SIGKILL');
  });

  for (let count = 0; count < config.webConcurrency; count += 1) start();
  log.info({ processes: config.webConcurrency, port: config.port }, 'supervising');
}

/**
 * The listening socket, which Node's cluster opens in this process. It closes it only when the last worker has closed its server;
 * connections that it accepts until then are reset. Measured at SIGTERM with 12 clients that open new connections: 4 resets without
 * this, none with it. The cluster has no public way to close the socket earlier, so this reads the private `_handle` when it opens. On
 * Windows each worker listens, and there is no handle here.
 */
function captureListeningSocket(): { close(): Promise<void> } {
  let handle: { close(): void } | undefined;
  subscribe('tracing:net.server.listen:asyncEnd', (message) => {
    handle = (message as { server: { _handle?: { close(): void } } }).server._handle;
  });
  return {
    async close() {
      // Clients that connected before the signal may still be in the kernel's accept queue, and closing resets them: accept them
      // first. Some that connect at the very moment of closing are lost, as with any listening socket.
      for (let count = 0; count < 4; count += 1) await yieldToEventLoop();
      handle?.close();
    },
  };
}

/**
 * The cluster hands a worker the next connection when it has taken the last one. With the socket closed, none is left once two
 * rounds of requests report the same counts.
 */
async function allConnectionsHandedOver(workers: readonly Worker[]): Promise<void> {
  let previous: readonly (number | undefined)[] = [];
  for (let responsive = workers; ; ) {
    const answers = await Promise.all(responsive.map((worker) => request(worker, 'connections')));
    const counts = answers.map((answer) => answer?.connections);
    if (counts.every((count, index) => count === previous[index])) return;
    // Workers that did not answer are left out of the next round.
    responsive = responsive.filter((_, index) => counts[index] !== undefined);
    previous = counts.filter((count) => count !== undefined);
  }
}

/**
 * The metrics of all workers. The last snapshot of each worker is kept, so that no counter goes down because a worker exited or
 * does not answer. Counts that a worker made after its last snapshot are lost with it; no scrape has shown them.
 */
function createMergedMetrics() {
  const latest = new Map<Worker, Snapshot>();
  let exitedWorkers: readonly Snapshot[] = [];

  return {
    async read(workers: readonly Worker[]): Promise<string> {
      const answered = new Set<Worker>();
      await Promise.all(
        workers.map(async (worker) => {
          const answer = await request(worker, 'snapshot');
          if (!answer || worker.isDead()) return;
          answered.add(worker);
          latest.set(worker, answer.snapshot);
        }),
      );
      const runningWorkers = [...latest].map(([worker, snapshot]) =>
        answered.has(worker) ? snapshot : withoutGauges(snapshot),
      );
      return joinSnapshots([...runningWorkers, ...exitedWorkers]);
    },
    /** Keeps the counters of a worker that has exited and drops its gauges. */
    retire(worker: Worker): void {
      const snapshot = latest.get(worker);
      if (!snapshot) return;
      latest.delete(worker);
      const all = [...exitedWorkers, withoutGauges(snapshot)];
      exitedWorkers = all;
      void mergeSnapshots(all).then((merged) => {
        if (exitedWorkers === all) exitedWorkers = [merged];
      });
    },
  };
}

type Answer<Kind> = Extract<Message, { kind: Kind }>;

let lastId = 0;

/** Undefined when the worker has exited or does not answer in time. */
function request<Kind extends 'snapshot' | 'connections'>(
  worker: Worker,
  kind: Kind,
): Promise<Answer<Kind> | undefined> {
  const id = ++lastId;
  return new Promise((resolve) => {
    const finish = (answer?: Answer<Kind>) => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      worker.off('exit', onExit);
      resolve(answer);
    };
    const onMessage = (message: Message) => {
      if (message.kind === kind && message.id === id) finish(message as Answer<Kind>);
    };
    const onExit = () => finish();
    const timer = setTimeout(onExit, replyTimeoutMs);
    worker.on('message', onMessage);
    worker.on('exit', onExit);
    if (!send(worker, { kind: `${kind}-request`, id } as Message)) finish();
  });
}

/** False when the worker has disconnected. */
function send(worker: Worker, message: Message): boolean {
  if (!worker.isConnected()) return false;
  worker.send(message);
  return true;
}
