/**
 * The load: keep-alive connections on loopback, each sending its next request as soon as the last one is answered. Requests
 * are made into bytes beforehand and answers are looked at no closer than to see that they are good and where they end: what
 * the load costs is taken from the server that it measures.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Rated } from './rounds.ts';

export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Measured extends Rated {
  /** Of the measured time only, in no order. */
  readonly milliseconds: readonly number[];
}

export interface Load {
  /** Measures for `seconds`, after a moment of the same load that does not count. */
  run(seconds: number): Promise<Measured>;
  /** Good answers in all runs, those of the uncounted moments included. */
  answers(): number;
}

export interface LoadOptions {
  readonly url: string;
  readonly connections: number;
  /** Sent in turn, across all connections and runs. */
  readonly requests: readonly Request[];
}

const warmMs = 1_000;
/** Nobody we measure takes that long; a server that hangs ends the bench. */
const patienceMs = 10_000;

export function createLoad({ url, connections, requests }: LoadOptions): Load {
  const { hostname, port, host } = new URL(url);
  const sent = requests.map((request) => bytesOf(request, host));
  let next = 0;
  let answers = 0;

  return {
    answers: () => answers,
    async run(seconds) {
      const opened: Connection[] = [];
      const milliseconds: number[] = [];
      const from = performance.now() + warmMs;
      const until = from + seconds * 1000;
      const keepAsking = async ({ socket, answered }: Connection) => {
        for (;;) {
          const asked = performance.now();
          socket.write(sent[next++ % sent.length] as Buffer);
          await answered();
          const now = performance.now();
          answers += 1;
          if (now >= until) return;
          if (now >= from) milliseconds.push(now - asked);
        }
      };
      try {
        while (opened.length < connections) opened.push(await open(hostname, Number(port)));
        await Promise.all(opened.map(keepAsking));
      } catch (error) {
        throw new Error(`${url}: ${error instanceof Error ? error.message : error}`, { cause: error });
      } finally {
        for (const { socket } of opened) socket.destroy();
      }
      return { perSecond: milliseconds.length / seconds, milliseconds };
    },
  };
}

function bytesOf({ method, path, headers, body = '' }: Request, host: string): Buffer {
  const all = { host, ...headers, ...(body && { 'content-length': String(Buffer.byteLength(body)) }) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

interface Connection {
  readonly socket: Socket;
  /** When the next answer is there and good. */
  answered(): Promise<void>;
}

async function open(host: string, port: number): Promise<Connection> {
  let waiting: PromiseWithResolvers<void> | undefined;
  let answer = '';
  const hear = (piece: string) => {
    answer += piece;
    const end = endOf(answer);
    if (answer.length < end) return;
    if (isGood.test(answer) && answer.length === end) waiting?.resolve();
    else waiting?.reject(new Error(`answered ${answer}`));
    answer = '';
  };
  const buffer = Buffer.alloc(64 * 1024);
  const socket = connect({
    host,
    port,
    noDelay: true,
    onread: {
      buffer,
      callback(bytes) {
        hear(buffer.toString('latin1', 0, bytes));
        return true;
      },
    },
  });
  socket.setTimeout(patienceMs, () => socket.destroy(new Error('no answer for too long')));
  socket.on('error', (error) => waiting?.reject(error));
  socket.on('close', () => waiting?.reject(new Error('the connection was closed')));
  await once(socket, 'connect');
  return {
    socket,
    answered() {
      waiting = Promise.withResolvers();
      return waiting.promise;
    },
  };
}

const isGood = /^HTTP\/1\.1 2/;
const bodyLength = /\r\ncontent-length: (\d+)\r\n/i;

/** Infinite while its headers are not all there. An answer that does not say its length ends nowhere, and is no good. */
function endOf(answer: string): number {
  const headers = answer.indexOf('\r\n\r\n') + 4;
  return headers < 4 ? Number.POSITIVE_INFINITY : headers + Number(bodyLength.exec(answer)?.[1]);
}
