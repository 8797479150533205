/**
 * Stopping well: the first SIGTERM or SIGINT undoes the start in reverse order and exits 0; a second one forces, and
 * so does time. A repeat within a moment is not a second wish: npm and our own launcher pass on a Ctrl-C that the
 * terminal has sent to everyone already.
 */
import type { Log } from './observability/log.ts';

const duplicateSignalMs = 250;
/** More than a server takes to cut the requests that hang; a database that does not answer is not waited for. */
const shutdownTimeoutMs = 15_000;

export interface Lifecycle {
  /** Adds a step; the last added is the first to run. */
  onStop(step: () => Promise<void>): void;
  stop(): Promise<void>;
  /** What the first signal does: stops, and ends the process. */
  exit(): void;
}

export function createLifecycle(log: Log): Lifecycle {
  const steps: (() => Promise<void>)[] = [];
  let stopping: Promise<void> | undefined;
  let leaving = false;

  /** A step that fails does not keep the others from running. */
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
      if (leaving) return;
      leaving = true;
      setTimeout(() => {
        log.error('could not stop in time: leaving with work undone');
        process.exit(1);
      }, shutdownTimeoutMs).unref();
      lifecycle.stop().then(
        () => process.exit(0),
        (error) => {
          log.error({ err: error }, 'could not stop cleanly');
          process.exit(1);
        },
      );
    },
  };
  onSignals(lifecycle.exit, log);
  if (process.env.npm_lifecycle_event !== undefined) onOrphaned(lifecycle.exit, log);
  return lifecycle;
}

function onSignals(leave: () => void, log: Log): void {
  let firstAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now();
    if (firstAt !== undefined) {
      if (now - firstAt < duplicateSignalMs) return;
      log.warn({ signal }, 'second signal: leaving at once');
      process.exit(signal === 'SIGINT' ? 130 : 143);
    }
    firstAt = now;
    log.info({ signal }, 'stopping: requests in flight are finished first; a second signal forces');
    leave();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/**
 * npm runs scripts through a shell, and a signal sent to npm ends that shell without reaching us. Whoever stopped
 * `npm start` meant the service, so it follows its parent.
 */
function onOrphaned(leave: () => void, log: Log): void {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    log.info('stopping: npm, which started this, has ended');
    leave();
  }, 500);
  watch.unref();
}
