/**
 * Pipelined requests are handled one at a time: the next begins when the response before it has been written. Node would start
 * all of them at once: a client that reads nothing could make the server hold thousands of responses with one packet.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Wraps the listener for `request`. A connection with more than `maxWaiting` requests behind the current one is closed. */
export function oneAtATime(handle: RequestListener, maxWaiting: number): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request: IncomingMessage, response: ServerResponse) => {
    // Node assigns the socket to a response when the earlier ones are written.
    if (response.socket !== null) return handle(request, response);
    const { socket } = request;
    if (socket.destroyed) return;
    const before = waiting.get(socket) ?? 0;
    if (before >= maxWaiting) return void socket.destroy();
    waiting.set(socket, before + 1);
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      handle(request, response);
    });
  };
}
