/**
 * The load generator: keep-alive connections on loopback, each sending its next request after the last response. Requests are serialized
 * beforehand, and responses are parsed only for their status and end: the generator's CPU time is taken from the server it measures.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Rate } from './rounds.ts';

export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface LoadResult extends Rate {
  /** Without the warm-up, in no order. */
  readonly milliseconds: readonly number[];
}

export interface Load {
  /** Measures for `seconds`, after a warm-up. */
  run(seconds: number): Promise<LoadResult>;
  /** Successful responses of all runs, warm-ups included. */
  answers(): number;
}

export interface LoadOptions {
  readonly url: string;
  readonly connections: number;
  /** Sent round robin, across all connections and runs. */
  readonly requests: readonly Request[];
}

const warmUpMs = 1_000;
/** A server that hangs ends the bench. */
const responseTimeoutMs = 10_000;

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
      const from = performance.now() + warmUpMs;
      const until = from + seconds * 1000;
      const sendRepeatedly = async ({ socket, answered }: Connection) => {
        for (;;) {
          const sentAt = performance.now();
          socket.write(sent[next++ % sent.length] as Buffer);
          await answered();
          const now = performance.now();
          answers += 1;
          if (now >= until) return;
          if (now >= from) milliseconds.push(now - sentAt);
        }
      };
      try {
        while (opened.length < connections) opened.push(await open(hostname, Number(port)));
        await Promise.all(opened.map(sendRepeatedly));
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
  /** Resolves with the next successful response. */
  answered(): Promise<void>;
}

async function open(host: string, port: number): Promise<Connection> {
  let waiting: PromiseWithResolvers<void> | undefined;
  let answer = '';
  const onData = (text: string) => {
    answer += text;
    const end = endOf(answer);
    if (answer.length < end) return;
    if (isSuccess.test(answer) && answer.length === end) waiting?.resolve();
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
        onData(buffer.toString('latin1', 0, bytes));
        return true;
      },
    },
  });
  socket.setTimeout(responseTimeoutMs, () => socket.destroy(new Error('response timeout')));
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

const isSuccess = /^HTTP\/1\.1 2/;
const bodyLength = /\r\ncontent-length: (\d+)\r\n/i;

/** Infinite while the headers are incomplete; NaN without Content-Length, which counts as a failure. */
function endOf(answer: string): number {
  const headers = answer.indexOf('\r\n\r\n') + 4;
  return headers < 4 ? Number.POSITIVE_INFINITY : headers + Number(bodyLength.exec(answer)?.[1]);
}
