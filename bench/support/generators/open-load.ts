/**
 * An open-loop load generator: requests arrive at a constant rate, also while earlier ones wait for their responses. Latency counts from
 * the planned arrival, so a server that stalls cannot hide it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesOf, type Connection, openConnection, type Request } from './connection.ts';

export interface Arrival {
  /** Milliseconds after the start of the phase. */
  readonly at: number;
  /** 0: the server closed the connection, or did not respond in time. */
  readonly status: number;
  readonly hasRetryAfter: boolean;
  /** False: all connections were waiting for responses. */
  readonly sent: boolean;
  readonly milliseconds: number;
}

export interface Phase {
  readonly perSecond: number;
  readonly seconds: number;
}

export interface OpenLoad {
  /** A phase begins at the end of the one before, with requests of that one still waiting. Returns when all have their responses. */
  run<Phases extends readonly Phase[]>(
    ...phases: Phases
  ): Promise<{ [Each in keyof Phases]: readonly Arrival[] }>;
  close(): void;
}

export interface OpenLoadOptions {
  readonly url: string;
  readonly requests: readonly Request[];
  /** A request that would need one more is not sent. */
  readonly maxConnections: number;
}

export function createOpenLoad({ url, requests, maxConnections }: OpenLoadOptions): OpenLoad {
  const { hostname, port, host } = new URL(url);
  const sent = requests.map((request) => bytesOf(request, host));
  let free: Connection[] = [];
  let inUse = 0;
  let next = 0;

  const take = async (): Promise<Connection> => {
    for (let connection = free.pop(); connection; connection = free.pop())
      if (!connection.socket.destroyed) return connection;
    return openConnection(hostname, Number(port));
  };

  const exchange = async (): Promise<string | undefined> => {
    if (inUse >= maxConnections) return undefined;
    inUse += 1;
    try {
      const connection = await take();
      connection.socket.write(sent[next++ % sent.length] as Buffer);
      const answer = await connection.answered();
      if (closes.test(answer)) connection.socket.destroy();
      else free.push(connection);
      return answer;
    } catch {
      return '';
    } finally {
      inUse -= 1;
    }
  };

  const arrive = async (started: number, at: number): Promise<Arrival> => {
    const exchanged = await exchange();
    const answer = exchanged ?? '';
    return {
      at,
      status: Number(statusLine.exec(answer)?.[1] ?? 0),
      hasRetryAfter: retryAfter.test(answer),
      sent: exchanged !== undefined,
      milliseconds: performance.now() - started - at,
    };
  };

  const send = async ({ perSecond, seconds }: Phase, started: number): Promise<Promise<Arrival>[]> => {
    const total = Math.round(perSecond * seconds);
    const pending: Promise<Arrival>[] = [];
    while (pending.length < total) {
      const due = Math.min(total, ((performance.now() - started) / 1000) * perSecond);
      while (pending.length < due) pending.push(arrive(started, (pending.length / perSecond) * 1000));
      await sleep(1);
    }
    return pending;
  };

  return {
    async run<Phases extends readonly Phase[]>(...phases: Phases) {
      const running: Promise<readonly Arrival[]>[] = [];
      let started = performance.now();
      for (const phase of phases) {
        running.push(Promise.all(await send(phase, started)));
        started += phase.seconds * 1000;
      }
      return (await Promise.all(running)) as { [Each in keyof Phases]: readonly Arrival[] };
    },
    close() {
      for (const { socket } of free) socket.destroy();
      free = [];
    },
  };
}

const statusLine = /^HTTP\/1\.1 (\d+)/;
const retryAfter = /\r\nretry-after: \d/i;
const closes = /\r\nconnection: close\r\n/i;
