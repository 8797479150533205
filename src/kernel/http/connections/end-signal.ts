/**
 * The end of a response that stays open. A client that has closed its sending side counts as gone: until something is written to
 * it, a closed connection looks the same. When the server closes, the response has a moment to end by itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

const closeMs = 1_000;

/** Aborted when the client has gone, the response has ended or the server closes. */
export function endSignal(
  { socket }: IncomingMessage,
  response: ServerResponse,
  closing: AbortSignal,
): AbortSignal {
  const ended = new AbortController();
  const onClosing = () => {
    // A client that does not read would keep the response open.
    const timer = setTimeout(() => response.destroy(), closeMs);
    response.once('close', () => clearTimeout(timer));
    ended.abort();
  };
  const onEnd = () => ended.abort();
  response.once('close', () => {
    socket.removeListener('end', onEnd);
    closing.removeEventListener('abort', onClosing);
    ended.abort();
  });
  socket.once('end', onEnd);
  if (closing.aborted) onClosing();
  else closing.addEventListener('abort', onClosing, { once: true });
  if (response.destroyed || socket.destroyed || socket.readableEnded) ended.abort();
  return ended.signal;
}
