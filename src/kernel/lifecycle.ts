/**
 * Graceful shutdown: the first SIGTERM or SIGINT runs the stop steps in reverse order and exits with 0. A second signal, or the
 * shutdown timeout, ends the process at once. A duplicate within 250 ms is ignored: npm and our launcher forward a Ctrl-C that
 * the terminal has already sent to all processes.
 */
import type { Log } from './observability/log.ts';

const duplicateSignalMs = 250;
/** Longer than the HTTP server's grace period. Steps that wait for an unreachable database are abandoned. */
const shutdownTimeoutMs = 15_000;

export interface Lifecycle {
  /** Adds a step; the last added is the first to run. */
  onStop(step: () => Promise<void>): void;
  stop(): Promise<void>;
  /** Stops and ends the process; the first signal calls it. */
  exit(): void;
}

/** The process that runs the server, or a test in its place. */
export interface ProcessControl {
  /** Calls the listener at SIGINT and SIGTERM, which then do not end the process. The returned function removes it. */
  onSignal(listener: (signal: NodeJS.Signals) => void): () => void;
  /** Ends the process at once. */
  exit(code: number): void;
}

/** `delayMs`: how long the first step waits on purpose. `timeoutMs`: how long all steps may take, without that. */
export function createLifecycle(
  log: Log,
  { onSignal, exit }: ProcessControl,
  { delayMs = 0, timeoutMs = shutdownTimeoutMs }: { delayMs?: number; timeoutMs?: number | undefined } = {},
): Lifecycle {
  const steps: (() => Promise<void>)[] = [];
  let stopping: Promise<void> | undefined;
  let exiting = false;

  /** A failed step does not prevent the others. */
  const runSteps = async () => {
    const failures: unknown[] = [];
    for (let step = steps.pop(); step; step = steps.pop())
      await step().catch((error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };

  const lifecycle: Lifecycle = {
    onStop: (step) => void steps.push(step),
    stop() {
      stopping ??= runSteps();
      return stopping;
    },
    exit() {
      if (exiting) return;
      exiting = true;
      setTimeout(() => {
        log.error('shutdown timed out; exiting with work unfinished');
        exit(1);
      }, timeoutMs + delayMs).unref();
      lifecycle.stop().then(
        () => exit(0),
        (error) => {
          log.error({ err: error }, 'a shutdown step failed; exiting with code 1');
          exit(1);
        },
      );
    },
  };
  let firstAt: number | undefined;
  onSignal((signal) => {
    const now = performance.now();
    if (firstAt !== undefined) {
      if (now - firstAt < duplicateSignalMs) return;
      log.warn({ signal }, 'second signal; exiting at once');
      return exit(signal === 'SIGINT' ? 130 : 143);
    }
    firstAt = now;
    log.info({ signal }, 'stopping; requests in flight are finished first, a second signal exits at once');
    lifecycle.exit();
  });
  if (process.env.npm_lifecycle_event !== undefined) onOrphaned(lifecycle.exit, log);
  return lifecycle;
}

/** npm runs scripts through a shell. A signal sent to npm ends that shell without reaching us, so we stop when the parent ends. */
function onOrphaned(exit: () => void, log: Log): void {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    log.info('the parent process npm has ended; stopping');
    exit();
  }, 500);
  watch.unref();
}
