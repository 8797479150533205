/**
 * Background loops as data: a name, an interval, a function. Loops own no timers; stopping waits for the round that is
 * running, so no round is cut in half.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isTemporary } from '../data/db.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';

export interface Loop {
  readonly name: string;
  /** Delay between the end of one round and the start of the next. */
  readonly everyMs: number;
  /** Runs also in processes that leave background work to `countersign worker`: they cannot write without it. */
  readonly inEveryProcess?: boolean;
  /** Purges expired rows: skipped while the clock-skew guard forbids it. */
  readonly purges?: boolean;
  /** One round of work. Long rounds check the signal and return early. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Called when the loop starts. `wake` ends the delay, or skips the next one when a round is running. The function it returns is
   * called and awaited after the last round.
   */
  begin?(wake: () => void): () => Promise<void>;
}

export interface Loops {
  start(which?: 'all' | 'inEveryProcess'): void;
  stop(): Promise<void>;
}

export function createLoops(
  loops: readonly Loop[],
  log: Log,
  options: {
    /** Each loop logs an outage once, and again after this long. */
    readonly remindMs?: number;
    /** The clock-skew guard. */
    mayPurge?(): Promise<boolean>;
    /** Gets the rounds of each loop, and whether this process runs them all. */
    readonly metrics?: Metrics;
  } = {},
): Loops {
  const { remindMs = 60_000, mayPurge = async () => true, metrics } = options;
  const stopping = new AbortController();
  let running: Promise<void>[] = [];

  const keepRunning = async (loop: Loop) => {
    const delay = createWakeableDelay(stopping.signal);
    const end = loop.begin?.(delay.wake);
    let outageLoggedAt = Number.NEGATIVE_INFINITY;
    const roundsThat = (outcome: 'ok' | 'skipped' | 'postponed' | 'failed') =>
      metrics?.counter('service_loop_rounds_total', { loop: loop.name, outcome });
    // Exposed as 0 from the start, so that a rate shows the first one.
    const rounds = {
      ok: roundsThat('ok'),
      ...(loop.purges && { skipped: roundsThat('skipped') }),
      postponed: roundsThat('postponed'),
      failed: roundsThat('failed'),
    };
    const onFailure = (error: unknown) => {
      rounds[isTemporary(error) ? 'postponed' : 'failed']?.();
      if (!isTemporary(error)) {
        log.error({ err: error, loop: loop.name }, 'background loop failed; it runs again after its delay');
      } else if (performance.now() - outageLoggedAt >= remindMs) {
        outageLoggedAt = performance.now();
        log.warn({ loop: loop.name, reason: error.message }, 'background loop postponed');
      }
    };
    while (!stopping.signal.aborted) {
      try {
        const isAllowed = !loop.purges || (await mayPurge());
        if (isAllowed) await loop.run(stopping.signal);
        rounds[isAllowed ? 'ok' : 'skipped']?.();
        outageLoggedAt = Number.NEGATIVE_INFINITY;
      } catch (error) {
        onFailure(error);
      }
      await delay.wait(loop.everyMs);
    }
    await end?.().catch((error) =>
      log.error({ err: error, loop: loop.name }, 'background loop failed while it stopped'),
    );
  };

  return {
    start(which = 'all') {
      if (running.length > 0) return;
      metrics?.gauge('service_background_worker', which === 'all' ? 1 : 0);
      running = loops.filter(({ inEveryProcess }) => which === 'all' || inEveryProcess).map(keepRunning);
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

/** A delay that `wake` or the signal ends early. */
function createWakeableDelay(signal: AbortSignal) {
  let woken = false;
  let endDelay: (() => void) | undefined;
  return {
    wake() {
      woken = true;
      endDelay?.();
    },
    async wait(milliseconds: number) {
      if (!woken) {
        const early = new AbortController();
        endDelay = () => early.abort();
        await sleep(milliseconds, undefined, { signal: AbortSignal.any([signal, early.signal]) }).catch(
          () => {},
        );
        endDelay = undefined;
      }
      woken = false;
    },
  };
}
