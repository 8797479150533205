/**
 * Background work as data: a name, how often, and what to do. Loops own no timers of their own; stopping waits
 * for the run that is under way, so nothing is cut in half.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseAway } from '../data/db.ts';
import type { Log } from '../observability/log.ts';

export interface Loop {
  readonly name: string;
  /** Pause between the end of one run and the start of the next. */
  readonly everyMs: number;
  /** Runs in every process, also where the background work is left to others: without it nothing can be written. */
  readonly everywhere?: boolean;
  /** Takes away for good what is over by the clock: left out while the clock is not to be believed. */
  readonly forgets?: boolean;
  /** One round of work. Long rounds should look at the signal and return early. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Called when the loop starts. `wake` ends the pause, or skips the next one when a round is under way. What is returned is
   * called when the loop has run its last round, and waited for.
   */
  begin?(wake: () => void): () => Promise<void>;
}

export interface Loops {
  start(which?: 'all' | 'everywhere'): void;
  stop(): Promise<void>;
}

export function createLoops(
  loops: readonly Loop[],
  log: Log,
  options: {
    /** An outage is said once by each loop, and again when it has lasted so long. */
    readonly remindMs?: number;
    /** Whether what is over may be taken away. */
    mayForget?(): Promise<boolean>;
  } = {},
): Loops {
  const { remindMs = 60_000, mayForget = async () => true } = options;
  const stopping = new AbortController();
  let running: Promise<void>[] = [];

  const keepRunning = async (loop: Loop) => {
    const alarm = createAlarmClock(stopping.signal);
    const end = loop.begin?.(alarm.wake);
    let awaySaidAt = Number.NEGATIVE_INFINITY;
    const say = (error: unknown) => {
      if (!(error instanceof DatabaseAway)) {
        log.error(
          { err: error, loop: loop.name },
          'a background loop failed; it goes on with its next round',
        );
      } else if (performance.now() - awaySaidAt >= remindMs) {
        awaySaidAt = performance.now();
        log.warn({ loop: loop.name, reason: error.message }, 'a background loop waits for the database');
      }
    };
    while (!stopping.signal.aborted) {
      try {
        if (!loop.forgets || (await mayForget())) await loop.run(stopping.signal);
        awaySaidAt = Number.NEGATIVE_INFINITY;
      } catch (error) {
        say(error);
      }
      await alarm.sleep(loop.everyMs);
    }
    await end?.().catch((error) =>
      log.error({ err: error, loop: loop.name }, 'a background loop ended badly'),
    );
  };

  return {
    start(which = 'all') {
      if (running.length > 0) return;
      running = loops.filter(({ everywhere }) => which === 'all' || everywhere).map(keepRunning);
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

/** A pause that can be ended, by the signal or by whoever has news. */
function createAlarmClock(signal: AbortSignal) {
  let woken = false;
  let rise: (() => void) | undefined;
  return {
    wake() {
      woken = true;
      rise?.();
    },
    async sleep(milliseconds: number) {
      if (!woken) {
        const asleep = new AbortController();
        rise = () => asleep.abort();
        await sleep(milliseconds, undefined, { signal: AbortSignal.any([signal, asleep.signal]) }).catch(
          () => {},
        );
        rise = undefined;
      }
      woken = false;
    },
  };
}
