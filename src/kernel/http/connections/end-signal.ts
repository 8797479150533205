/**
 * The end of a response that stays open. A client that has closed its sending side counts as gone: until something is written to
 * it, a closed connection looks the same. When the server closes, the response has a moment to end by itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../../fail.ts';

const closeMs = 1_000;
const never = new AbortController().signal;

/** Usually no client reads it. Created once, without a stack for each request. */
const clientGone = new ApiError('SERVICE_UNAVAILABLE', {
  message: 'The connection was closed before the turn of this request. Nothing was done.',
  headers: { 'retry-after': '1' },
  isLogged: true,
});

/** Aborted when the client has gone, the response has ended or the server closes. Without `closing`, not by the last. */
export function endSignal(
  { socket }: IncomingMessage,
  response: ServerResponse,
  closing: AbortSignal = never,
): AbortSignal {
  const ended = new AbortController();
  const onClosing = () => {
    // A client that does not read would keep the response open.
    const timer = setTimeout(() => response.destroy(), closeMs);
    response.once('close', () => clearTimeout(timer));
    ended.abort();
  };
  const onEnd = () => ended.abort(clientGone);
  response.once('close', () => {
    socket.removeListener('end', onEnd);
    closing.removeEventListener('abort', onClosing);
    ended.abort(clientGone);
  });
  socket.once('end', onEnd);
  if (closing.aborted) onClosing();
  else closing.addEventListener('abort', onClosing, { once: true });
  if (response.destroyed || socket.destroyed || socket.readableEnded) ended.abort(clientGone);
  return ended.signal;
}
