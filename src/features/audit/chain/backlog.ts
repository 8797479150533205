/**
 * The backlog: events without a link. An event that is deleted before it is linked leaves no trace in the database, so a
 * backlog that does not shrink is reported: metrics, log and /health. It is no proof of tampering and does not change the
 * integrity gauge.
 */
import type { Clock } from '../../../kernel/clock.ts';
import type { Db } from '../../../kernel/data/db.ts';
import type { Log } from '../../../kernel/observability/log.ts';
import type { Metrics } from '../../../kernel/observability/metrics.ts';
import { findOldestUnlinked, readLinkingProgress } from './backlog-store.ts';

export interface LinkingState {
  readonly status: 'ok' | 'delayed';
  /** 0 while each event without a link is younger than a second. */
  readonly oldestUnlinkedSeconds: number;
}

export interface Backlog {
  /** Finds the oldest event without a link, of all processes. */
  measure(): Promise<void>;
  /** Runs a pass of this process's sequencer, which returns whether it got its lock. */
  observe(pass: () => Promise<boolean>): Promise<void>;
  /** As of the last measurement. */
  state(): LinkingState;
}

const delayedMs = 5_000;
const youngMs = 1_000;
/** While linking is delayed, the log repeats it at most this often. */
const remindMs = 60_000;

export function createBacklog(deps: { db: Db; clock: Clock; log: Log; metrics: Metrics }): Backlog {
  const { db, clock, log, metrics } = deps;
  let oldestMs = 0;
  /** One measurement alone may find an event of a long transaction, or of a node whose clock is behind. */
  let overdueMeasurements = 0;
  let unsettledSince: number | undefined;
  let lockMissingSince: number | undefined;
  let delayed = false;
  let loggedAt = Number.NEGATIVE_INFINITY;
  let isLogged = false;

  const lockMissingMs = () => (lockMissingSince === undefined ? 0 : clock.now() - lockMissingSince);

  const report = () => {
    delayed = overdueMeasurements > 1 || lockMissingMs() >= delayedMs;
    metrics.gauge('service_audit_oldest_unlinked_seconds', seconds(oldestMs));
    metrics.gauge('service_audit_linking_delayed', delayed ? 1 : 0);
    const fields = {
      oldestUnlinkedSeconds: seconds(oldestMs),
      withoutLockSeconds: seconds(lockMissingMs()),
    };
    if (delayed && clock.now() - loggedAt >= remindMs) {
      loggedAt = clock.now();
      isLogged = true;
      log.error(
        fields,
        'audit events are not linked in time; until it is linked, an event can be deleted without a trace',
      );
    } else if (!delayed && isLogged) {
      isLogged = false;
      log.info(fields, 'audit events are linked in time again');
    }
  };

  /** The age of the oldest. After a restore, or a change by hand, all of the log counts as unlinked until it is processed. */
  const oldestUnlinkedMs = async (now: number): Promise<number> => {
    const progress = await readLinkingProgress(db);
    if (progress && !progress.restored) {
      unsettledSince = undefined;
      return findOldestUnlinked(db, progress, youngMs);
    }
    unsettledSince ??= now;
    return now - unsettledSince;
  };

  return {
    async measure() {
      oldestMs = await oldestUnlinkedMs(clock.now());
      overdueMeasurements = oldestMs > delayedMs ? overdueMeasurements + 1 : 0;
      report();
    },
    async observe(pass) {
      const began = clock.now();
      const hadLock = await pass();
      lockMissingSince = hadLock ? undefined : (lockMissingSince ?? began);
      report();
    },
    state: () => ({ status: delayed ? 'delayed' : 'ok', oldestUnlinkedSeconds: seconds(oldestMs) }),
  };
}

const seconds = (milliseconds: number): number => Math.round(milliseconds / 100) / 10;
