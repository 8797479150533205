/**
 * What becomes of connections: bytes on them that are no request, answers that are given before all of the question has come, and
 * their end when the server closes. Nobody loses an answer by the way a connection is closed, and nobody can hold one open.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { ApiError } from '../../fail.ts';
import { networkOf, normalizeAddress } from '../address.ts';
import { envelope } from '../error-format.ts';
import { windowHeaders } from '../guard.ts';
import type { RateWindow } from '../rate-window.ts';
import { onlyChunked } from '../request.ts';

export interface Connections {
  /** Answers bytes that are no HTTP request, or half of one. */
  refuse(error: Error & { code?: string }, socket: Socket): Promise<void>;
  /** Says `Connection: close` where it applies; then what is to be waited for before the answer is written, if anything. */
  beforeResponse(request: IncomingMessage, reply: FastifyReply): (() => Promise<void>) | undefined;
  afterResponse(request: IncomingMessage): void;
  /** From now on every answer is the last one on its connection. */
  startClosing(): void;
  /** Finishes requests in flight, keep-alive clients notwithstanding; cuts what is not done after `graceMs`. */
  close(server: FastifyInstance, graceMs?: number): Promise<void>;
}

const defaultCloseDelayMs = 250;
/** How long a refused socket is still read from. */
const lingerMs = 250;
const drainMs = 1_000;

export function createConnections(deps: {
  readonly window: RateWindow;
  readonly securityHeaders: Readonly<Record<string, string>>;
  /** Before connections that look idle are closed: what a client has sent on one may still be on its way. */
  readonly closeDelayMs?: number | undefined;
}): Connections {
  const { window, securityHeaders, closeDelayMs: farewellMs = defaultCloseDelayMs } = deps;
  const refused = new WeakSet<Socket>();
  /** The last request on each socket that was answered before all of it had come. */
  const answeredEarly = new Map<Socket, IncomingMessage>();
  let closing = false;

  const isAnswered = (socket: Socket) => answeredEarly.get(socket)?.complete === false;

  /** They have their answers, and whatever they are still sending is for nobody. */
  const destroyAnswered = () => {
    for (const socket of answeredEarly.keys()) if (isAnswered(socket)) socket.destroy();
  };

  return {
    async refuse(error, socket) {
      // Whatever else arrives on a refused socket fails too; the first failure has been answered.
      if (refused.has(socket)) return;
      refused.add(socket);
      // A request is answered once, whatever becomes of the rest of it.
      if (error.code === 'ECONNRESET' || !socket.writable || isAnswered(socket)) return void socket.destroy();
      const refusal = refusalOf(error);
      const address = normalizeAddress(socket.remoteAddress ?? '') ?? 'unknown';
      const state = await window.count(`ip:${networkOf(address)}`);
      const body = JSON.stringify(envelope(refusal));
      const headers = {
        ...windowHeaders(state),
        ...securityHeaders,
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(body),
        'x-request-id': randomUUID(),
        connection: 'close',
      };
      const head = Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('');
      // There is no reply object: the answer is written by hand.
      if (socket.writable) socket.end(`HTTP/1.1 ${refusal.status} Refused\r\n${head}\r\n${body}`);
      // What is still arriving is read and dropped for a moment: closing on it would reset the connection, and the
      // answer with it. Nobody gets to keep a refused socket, though.
      setTimeout(() => socket.destroy(), lingerMs).unref();
    },

    beforeResponse(request, reply) {
      if (closing) reply.header('connection', 'close');
      const staysOpen = reply.raw.shouldKeepAlive && !reply.hasHeader('connection');
      return staysOpen || request.complete ? undefined : () => drain(request);
    },

    afterResponse(request) {
      if (request.complete) return;
      const { socket } = request;
      if (!answeredEarly.has(socket)) socket.once('close', () => answeredEarly.delete(socket));
      answeredEarly.set(socket, request);
    },

    startClosing() {
      closing = true;
    },

    async close(server, graceMs = 10_000) {
      closing = true;
      const drained = server.server.listening ? stopListening(server.server) : undefined;
      if (drained) await sleep(farewellMs);
      const heardOut = setTimeout(destroyAnswered, drainMs);
      const cut = setTimeout(() => server.server.closeAllConnections(), graceMs);
      try {
        await server.close();
        await drained;
      } finally {
        clearTimeout(heardOut);
        clearTimeout(cut);
      }
    },
  };
}

function refusalOf({ code }: { code?: string }): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW') return new ApiError('HEADERS_TOO_LARGE');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiError('REQUEST_TIMEOUT');
  if (code === 'HPE_INVALID_TRANSFER_ENCODING')
    return new ApiError('VALIDATION_ERROR', { message: onlyChunked });
  const message = 'This is not a well-formed HTTP request.';
  return new ApiError('VALIDATION_ERROR', code?.startsWith('HPE_') ? { message } : {});
}

/** Nobody new from now on; those who are there stay, also the idle, whom the HTTP server's own `close` would end. */
const stopListening = (server: FastifyInstance['server']): Promise<void> =>
  new Promise((drained) => NetServer.prototype.close.call(server, () => drained()));

/**
 * Closing a connection on what is still arriving would reset it, and the answer with it: so whoever is about to be closed is heard
 * out for a moment.
 */
async function drain(request: IncomingMessage): Promise<void> {
  const late = new AbortController();
  const over = once(request.resume(), 'close', { signal: late.signal }).catch(() => {});
  await Promise.race([over, sleep(drainMs, undefined, { signal: late.signal }).catch(() => {})]);
  late.abort();
}
