/** How a command ends that runs until it is stopped. */
import type { Io } from '../../io.ts';
import { printError } from '../../terminal.ts';

/**
 * Ends at Ctrl-C, the ordinary end, and aborts what uses `stopping`. So it does when a reader has closed the pipe, such as `head`.
 * `closing` makes the last line, on standard error.
 */
export async function untilInterrupted(
  io: Io,
  stopping: AbortController,
  closing: () => string,
  work: () => Promise<void>,
): Promise<void> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const ignore = io.onSignal(() => {
    printError(io, closing());
    stop();
  });
  io.stdout.on('error', stop);
  const running = work();
  running.catch(() => {});
  try {
    await Promise.race([running, stopped]);
  } finally {
    ignore();
    stopping.abort();
  }
}
