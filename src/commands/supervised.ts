/** The other end of supervise.ts: what a serving process that is one of several says to its supervisor, and hears from it. */
import cluster from 'node:cluster';
import type { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lifecycle } from '../kernel/lifecycle.ts';
import type { Metrics } from '../kernel/observability/metrics.ts';
import { answerMs, type Message } from './supervise.ts';

const say = (message: Message) => process.connected && process.send?.(message);

const told = Promise.withResolvers<void>();

/** It stops when it is told to. That the supervisor is gone is noticed, and followed, by Node itself. */
export function obeySupervisor(lifecycle: Lifecycle): void {
  process.on('message', ({ kind }: Message) => {
    if (kind !== 'leave') return;
    told.resolve();
    lifecycle.exit();
  });
  // What is said to one who has just gone fails; unheard, that would be a crash in the middle of our own end.
  cluster.worker?.on('error', () => {});
}

/**
 * The first step of stopping, whoever asked for it: connections are handed to this process until the supervisor says that there are no
 * more, and one that meets a closed server is lost. A supervisor that does not answer is not waited for.
 */
export async function leaveInTurn(): Promise<void> {
  say({ kind: 'leaving' });
  const late = new AbortController();
  await Promise.race([told.promise, sleep(2 * answerMs, undefined, { signal: late.signal }).catch(() => {})]);
  late.abort();
}

/** Its own figures, and how many connections it has been handed, whenever the supervisor asks. */
export function answerSupervisor(own: Metrics, server: Server): void {
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  process.on('message', async (message: Message) => {
    if (message.kind === 'connections-wanted') say({ kind: 'connections', id: message.id, connections });
    if (message.kind === 'snapshot-wanted')
      say({ kind: 'snapshot', id: message.id, snapshot: await own.snapshot() });
  });
}

let lastId = 0;

/** Everyone's figures, by way of the supervisor. */
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
    say({ kind: 'metrics-wanted', id });
  });
}
