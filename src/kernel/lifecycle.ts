/**
 * Stopping well: the first SIGTERM or SIGINT undoes the start in reverse order and exits 0; a second one forces. A
 * repeat within a moment is not a second wish: npm and our own launcher pass on a Ctrl-C that the terminal has sent to
 * everyone already.
 */
import type { Log } from './log.ts';

const sameWishMs = 250;

export interface Lifecycle {
  /** Adds a step; the last added is the first to run. */
  onStop(step: () => Promise<void>): void;
  stop(): Promise<void>;
}

export function createLifecycle(log: Log): Lifecycle {
  const steps: (() => Promise<void>)[] = [];
  let stopping: Promise<void> | undefined;

  const runSteps = async () => {
    for (let step = steps.pop(); step; step = steps.pop()) await step();
  };

  const lifecycle: Lifecycle = {
    onStop: (step) => void steps.push(step),
    stop() {
      stopping ??= runSteps();
      return stopping;
    },
  };
  stopOnSignals(lifecycle, log);
  return lifecycle;
}

function stopOnSignals(lifecycle: Lifecycle, log: Log): void {
  let firstAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now();
    if (firstAt !== undefined) {
      if (now - firstAt < sameWishMs) return;
      log.warn({ signal }, 'second signal: leaving at once');
      process.exit(signal === 'SIGINT' ? 130 : 143);
    }
    firstAt = now;
    log.info({ signal }, 'stopping: requests in flight are finished first; a second signal forces');
    lifecycle.stop().then(
      () => process.exit(0),
      (error) => {
        log.error({ err: error }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}
