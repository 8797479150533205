/**
 * Bounds the memory that responses hold while their clients do not read them. Large bodies are written in slices, as fast as
 * the client reads. A sweep over the open connections closes those on which nothing was read for `stallMs`; when all unread
 * responses together exceed `maxBytes`, it also closes those that have waited longest, until they fit again.
 *
 * Costs one addition per request: between two sweeps unread responses can grow only by the bytes written since.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Log } from '../../observability/log.ts';
import { isSharedBuffer } from '../responses/static-content.ts';

export interface UnreadResponses {
  /** For every connection that is accepted. */
  track(socket: Socket): void;
  /** For every response: the payload to send, replaced by a stream of slices if it is large or a stream. */
  bound(payload: unknown, request: IncomingMessage, reply: FastifyReply): unknown;
  stop(): void;
}

interface Connection {
  /** The buffer of the response that is being written in slices; it stays in memory as a whole. */
  buffered: number;
  /** The buffer is shared by all responses and needs no memory of its own. */
  shared: boolean;
  written: number;
  pending: number;
  /** When the client last read something, or had nothing to read. */
  movedAt: number;
}

type Chunk = string | Uint8Array;

const sliceBytes = 65_536;
const sweepMs = 1_000;
/** A sweep leaves a quarter free, so that a server under attack does not sweep again at the next response. */
const targetFill = 0.75;

export function createUnreadResponses(deps: {
  readonly log: Log;
  readonly maxBytes: number;
  readonly stallMs: number;
}): UnreadResponses {
  const { log, maxBytes, stallMs } = deps;
  const connections = new Map<Socket, Connection>();
  /** The bytes that the last sweep found, plus all written since: an upper bound of the memory in use. */
  let heldUpperBound = 0;

  const count = (bytes: number) => {
    heldUpperBound += bytes;
    if (heldUpperBound > maxBytes) sweep();
  };

  const sweep = () => {
    const now = performance.now();
    const unread: { socket: Socket; bytes: number; movedAt: number }[] = [];
    let stalled = 0;
    heldUpperBound = 0;
    for (const [socket, connection] of connections) {
      const pending = socket.writableLength;
      if (pending === 0 || hasMoved(socket, connection)) connection.movedAt = now;
      connection.pending = pending;
      connection.written = pending === 0 ? 0 : socket.bytesWritten;
      if (now - connection.movedAt >= stallMs) {
        socket.resetAndDestroy();
        stalled += 1;
        continue;
      }
      const bytes = connection.shared ? 0 : Math.max(pending, connection.buffered);
      if (bytes > 0) unread.push({ socket, bytes, movedAt: connection.movedAt });
      heldUpperBound += bytes;
    }
    if (stalled > 0)
      log.info({ closed: stalled, stallMs }, 'clients read nothing of their responses; connections closed');
    if (heldUpperBound > maxBytes * targetFill) closeSlowest(unread);
  };

  const closeSlowest = (unread: { socket: Socket; bytes: number; movedAt: number }[]) => {
    const before = { connections: unread.length, bytes: heldUpperBound };
    let closed = 0;
    for (const { socket, bytes } of unread.sort((one, other) => one.movedAt - other.movedAt)) {
      if (heldUpperBound <= maxBytes * targetFill) break;
      // A reset: with an orderly close the operating system would keep its part of the response until the client reads.
      socket.resetAndDestroy();
      heldUpperBound -= bytes;
      closed += 1;
    }
    log.warn({ ...before, closed }, 'unread responses hold too much memory; closed the slowest connections');
  };

  const timer = setInterval(sweep, Math.min(sweepMs, stallMs / 4)).unref();

  /** Slices of the source's chunks. The source is read further when the client has read the earlier ones. */
  async function* slice(source: AsyncIterable<Chunk> | Iterable<Chunk>, connection: Connection | undefined) {
    for await (const chunk of source) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      if (connection) connection.buffered = bytes.length;
      if (!connection?.shared) count(bytes.length);
      for (let at = 0; at < bytes.length; at += sliceBytes) yield bytes.subarray(at, at + sliceBytes);
    }
  }

  const inSlices = (
    source: AsyncIterable<Chunk> | Iterable<Chunk>,
    shared: boolean,
    { socket }: IncomingMessage,
    reply: FastifyReply,
  ): Readable => {
    const connection = connections.get(socket);
    if (connection) {
      connection.shared = shared;
      reply.raw.once('close', () => Object.assign(connection, { shared: false, buffered: 0 }));
    }
    return Readable.from(slice(source, connection), { objectMode: false, highWaterMark: sliceBytes });
  };

  return {
    track(socket) {
      connections.set(socket, {
        buffered: 0,
        shared: false,
        written: 0,
        pending: 0,
        movedAt: performance.now(),
      });
      socket.once('close', () => connections.delete(socket));
    },
    bound(payload, request, reply) {
      if (payload === null || payload === undefined || request.method === 'HEAD') return payload;
      if (typeof payload === 'string' || payload instanceof Uint8Array) {
        if (payload.length <= sliceBytes) {
          count(typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length);
          return payload;
        }
        const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
        reply.header('content-length', bytes.length);
        return inSlices([bytes], isSharedBuffer(bytes), request, reply);
      }
      return isIterable(payload) ? inSlices(payload, false, request, reply) : payload;
    },
    stop: () => clearInterval(timer),
  };
}

/** Both change when a slice has gone to the operating system; while the client reads nothing, neither does. */
const hasMoved = (socket: Socket, { written, pending }: Connection): boolean =>
  socket.writableLength !== pending || socket.bytesWritten !== written;

const isIterable = (payload: unknown): payload is AsyncIterable<Chunk> =>
  typeof payload === 'object' && payload !== null && Symbol.asyncIterator in payload;
