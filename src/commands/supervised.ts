/** The worker's end of supervise.ts: the messages that a worker sends to its supervisor and receives from it. */
import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../app.ts';
import type { Lifecycle } from '../kernel/lifecycle.ts';
import type { Metrics } from '../kernel/observability/metrics.ts';
import { type Message, replyTimeoutMs } from './supervise.ts';

const send = (message: Message) => process.connected && process.send?.(message);

const stopReceived = Promise.withResolvers<void>();

/** Stops this worker on the supervisor's message. When the supervisor is gone, Node's cluster ends the worker. */
export function stopOnMessage(lifecycle: Lifecycle): void {
  process.on('message', ({ kind }: Message) => {
    if (kind !== 'stop') return;
    stopReceived.resolve();
    lifecycle.exit();
  });
  // Sending to a supervisor that has just exited fails; without a listener that would crash this worker during its shutdown.
  cluster.worker?.on('error', () => {});
}

/**
 * The first step of a worker's shutdown. The cluster hands connections to this worker until the supervisor sends `stop`; a closed
 * server would lose them. Without an answer in time the worker stops anyway.
 */
export async function waitForStopMessage(delayMs: number): Promise<void> {
  send({ kind: 'stop-request' });
  const timeout = new AbortController();
  await Promise.race([
    stopReceived.promise,
    sleep(delayMs + 2 * replyTimeoutMs, undefined, { signal: timeout.signal }).catch(() => {}),
  ]);
  timeout.abort();
}

/** Answers the supervisor's requests for this worker's metrics and for the number of connections it was handed, and its message to drain. */
export function answerRequests({ metrics: own, http, drain }: App): void {
  let connections = 0;
  http.server.server.on('connection', () => {
    connections += 1;
  });
  process.on('message', async (message: Message) => {
    if (message.kind === 'connections-request') send({ kind: 'connections', id: message.id, connections });
    if (message.kind === 'drain') drain();
    if (message.kind === 'snapshot-request')
      send({ kind: 'snapshot', id: message.id, snapshot: await own.snapshot() });
  });
}

let lastId = 0;

/** The merged metrics of all workers, from the supervisor. */
export function requestMergedMetrics(own: Metrics): Promise<string> {
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
    // Without an answer in time: this worker's own metrics.
    const timer = setTimeout(() => finish(own.text()), 2 * replyTimeoutMs);
    process.on('message', onMessage);
    send({ kind: 'metrics-request', id });
  });
}
