/**
 * The life of connections: bytes that are no HTTP request, responses sent before the whole request has arrived, and graceful
 * shutdown. Closing a connection never loses a response, and no client can keep one open.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { ApiError } from '../../fail.ts';
import { windowHeaders } from '../access/rate-limiter.ts';
import { networkOf, normalizeAddress } from '../address.ts';
import { envelope } from '../error-format.ts';
import type { RateWindow } from '../rate-window.ts';
import { onlyChunked } from '../request.ts';
import type { Listeners } from './listeners.ts';

export interface Connections {
  /** Answers bytes that are no HTTP request, or an incomplete one. */
  refuse(error: Error & { code?: string }, socket: Socket): Promise<void>;
  /** Sets `Connection: close` where it applies. Returns a function to await before the response is written, if there is one. */
  beforeResponse(request: IncomingMessage, reply: FastifyReply): (() => Promise<void>) | undefined;
  afterResponse(request: IncomingMessage): void;
  /** From now on every response is the last one on its connection. */
  startClosing(): void;
  /** Aborted when the server closes. */
  readonly closing: AbortSignal;
  /** Finishes requests in flight and ends keep-alive connections; after `graceMs` it closes the remaining ones. */
  close(server: FastifyInstance, listeners: Listeners, graceMs?: number): Promise<void>;
}

const defaultCloseDelayMs = 250;
/** While requests arrive on open connections, the delay begins again, up to this multiple. */
const maxCloseDelays = 6;
/** A refused socket is read for this long before it is destroyed. */
const lingerMs = 250;
const drainMs = 1_000;

export function createConnections(deps: {
  readonly window: RateWindow;
  readonly securityHeaders: Readonly<Record<string, string>>;
  /** How long no request arrives before idle connections are closed: a request on one may still be in transit. */
  readonly closeDelayMs?: number | undefined;
}): Connections {
  const { window, securityHeaders, closeDelayMs = defaultCloseDelayMs } = deps;
  const refused = new WeakSet<Socket>();
  /** The last request on each socket that was answered before it had arrived completely. */
  const answeredEarly = new Map<Socket, IncomingMessage>();
  const closing = new AbortController();
  /** The last response since the server began to close. */
  let answeredAt = 0;

  const isAnswered = (socket: Socket) => answeredEarly.get(socket)?.complete === false;

  /** These clients have their responses; the rest of their request bodies is not needed. */
  const destroyAnswered = () => {
    for (const socket of answeredEarly.keys()) if (isAnswered(socket)) socket.destroy();
  };

  /** A busy proxy uses up its connections, because each response ends one. Then it is refused, and sends no more. */
  const untilNoRequests = async (drained: Promise<unknown>) => {
    const startedAt = performance.now();
    const latest = startedAt + maxCloseDelays * closeDelayMs;
    answeredAt = startedAt;
    const isDrained = new AbortController();
    drained.then(() => isDrained.abort());
    for (let rest = closeDelayMs; rest > 0 && !isDrained.signal.aborted; ) {
      await sleep(rest, undefined, { signal: isDrained.signal }).catch(() => {});
      rest = Math.min(answeredAt + closeDelayMs, latest) - performance.now();
    }
  };

  return {
    async refuse(error, socket) {
      // More bytes on a refused socket fail too; only the first failure is answered.
      if (refused.has(socket)) return;
      refused.add(socket);
      // A request is answered once, also when the rest of it is malformed.
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
      // There is no reply object here.
      if (socket.writable) socket.end(`HTTP/1.1 ${refusal.status} Refused\r\n${head}\r\n${body}`);
      // Arriving bytes are read and dropped for a moment: closing at once would reset the connection and lose the response.
      setTimeout(() => socket.destroy(), lingerMs).unref();
    },

    beforeResponse(request, reply) {
      if (closing.signal.aborted) {
        answeredAt = performance.now();
        reply.header('connection', 'close');
      }
      const staysOpen = reply.raw.shouldKeepAlive && !reply.hasHeader('connection');
      return staysOpen || request.complete ? undefined : () => drain(request);
    },

    afterResponse(request) {
      if (request.complete) return;
      const { socket } = request;
      if (!answeredEarly.has(socket)) socket.once('close', () => answeredEarly.delete(socket));
      answeredEarly.set(socket, request);
    },

    startClosing: () => closing.abort(),
    closing: closing.signal,

    async close(server, listeners, graceMs = 10_000) {
      const stopped = await listeners.stop();
      // Not earlier: a proxy whose connection ends opens the next one, which could be in the queue of the closing socket.
      closing.abort();
      if (stopped) await untilNoRequests(stopped.drained);
      const drainTimer = setTimeout(destroyAnswered, drainMs);
      const graceTimer = setTimeout(() => server.server.closeAllConnections(), graceMs);
      try {
        await server.close();
        await stopped?.drained;
      } finally {
        clearTimeout(drainTimer);
        clearTimeout(graceTimer);
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

/** Reads the rest of the request for a moment: closing earlier would reset the connection and lose the response. */
async function drain(request: IncomingMessage): Promise<void> {
  const late = new AbortController();
  const ended = once(request.resume(), 'close', { signal: late.signal }).catch(() => {});
  await Promise.race([ended, sleep(drainMs, undefined, { signal: late.signal }).catch(() => {})]);
  late.abort();
}
