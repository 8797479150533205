/** One keep-alive connection of a load generator. Responses are parsed only for their end. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Connection {
  readonly socket: Socket;
  /** Resolves with the text of the next response. */
  answered(): Promise<string>;
}

/** A server that hangs ends the bench. */
const responseTimeoutMs = 10_000;

export function bytesOf({ method, path, headers, body = '' }: Request, host: string): Buffer {
  const all = { host, ...headers, ...(body && { 'content-length': String(Buffer.byteLength(body)) }) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

export async function openConnection(host: string, port: number): Promise<Connection> {
  let waiting: PromiseWithResolvers<string> | undefined;
  let answer = '';
  const onData = (text: string) => {
    answer += text;
    const end = endOf(answer);
    if (answer.length < end) return;
    if (answer.length === end) waiting?.resolve(answer);
    else waiting?.reject(new Error(`answered ${answer}`));
    answer = '';
  };
  const buffer = Buffer.alloc(16 * 1024);
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

const bodyLength = /\r\ncontent-length: (\d+)\r\n/i;

/** Infinite while the headers are incomplete; NaN without Content-Length, which counts as a failure. */
function endOf(answer: string): number {
  const headers = answer.indexOf('\r\n\r\n') + 4;
  return headers < 4 ? Number.POSITIVE_INFINITY : headers + Number(bodyLength.exec(answer)?.[1]);
}
