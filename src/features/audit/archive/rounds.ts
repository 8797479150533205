/**
 * The rounds of the archive: every closed day of every organization, the oldest first. One process has a round at a time. A day that
 * fails is tried again after a while, and the others go on.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { nextTurn, type Pace } from '../../../kernel/concurrency/pace.ts';
import { type Db, isTemporary } from '../../../kernel/data/db.ts';
import type { Alarm } from './alarm.ts';
import type { ArchiveOneDay } from './archive-day.ts';
import type { ArchiveRun } from './day-file.ts';
import { ArchiveFault } from './fault.ts';
import { claimLease, type Lease, LeaseLost } from './lease.ts';
import { type ArchiveDay, dayAt } from './names.ts';
import type { PendingDays } from './pending-days.ts';
import { type ArchiveRow, closeThrough } from './store.ts';

interface RoundsDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly pending: PendingDays;
  readonly archiveDay: ArchiveOneDay;
  readonly alarm: Alarm;
  readonly pace: Pace;
  /** Links all events that were recorded so far. */
  drain(): Promise<unknown>;
}

export interface RoundOptions {
  readonly signal?: AbortSignal | undefined;
  onArchived?(row: ArchiveRow): void;
  onFailed?(day: ArchiveDay, reason: string): void;
  onProgress?(day: ArchiveDay, events: number): void;
}

export interface RoundResult {
  readonly archived: number;
  /** Days that should be archived, and are not. */
  readonly failed: number;
  /** The first day that waits for witnesses. */
  readonly waitingFrom?: string;
}

/** `busy`: another process has a round. */
export type Round = (options?: RoundOptions) => Promise<'busy' | RoundResult>;

/** So many failures of the storage one after the other: the others would fail, too. The round ends. */
const maxStorageFailures = 3;
const dayMs = 86_400_000;

export function createRounds(deps: RoundsDeps): Round {
  const { db, clock, pending, archiveDay, alarm, pace, drain } = deps;

  const archiveAll = async (
    lease: Lease,
    { signal, onArchived, onFailed, onProgress }: RoundOptions,
  ): Promise<RoundResult> => {
    const counts: { -readonly [Field in keyof RoundResult]: RoundResult[Field] } = { archived: 0, failed: 0 };
    let storageFailures = 0;

    const runOf = (day: ArchiveDay): ArchiveRun => {
      let events = 0;
      return {
        signal,
        pace,
        async rest(more) {
          events += more;
          onProgress?.(day, events);
          await lease.keep();
          await nextTurn();
        },
      };
    };

    const archive = async (day: ArchiveDay): Promise<void> => {
      try {
        const row = await archiveDay(day, runOf(day));
        counts.archived += 1;
        storageFailures = 0;
        alarm.clear(day);
        onArchived?.(row);
      } catch (error) {
        if (signal?.aborted) return;
        if (isTemporary(error) || error instanceof LeaseLost) throw error;
        counts.failed += 1;
        const isOfStorage = error instanceof ArchiveFault && error.cause === 'storage';
        storageFailures = isOfStorage ? storageFailures + 1 : 0;
        alarm.raise(day, error);
        onFailed?.(day, (error as Error).message);
      }
    };

    const days = await pending.candidates();
    // Also when an earlier round has closed the days: it may have ended before the last events under them were linked.
    if (days.length > 0) await drain();
    for (const day of days) {
      if (!(await pending.isWitnessed(day))) {
        if (await pending.has(day)) counts.waitingFrom = day;
        break;
      }
      for await (const next of pending.of(day)) {
        await lease.keep();
        if (alarm.isDue(next)) await archive(next);
        else counts.failed += 1;
        if (signal?.aborted || storageFailures >= maxStorageFailures) return counts;
      }
      if (counts.failed === 0) pending.markComplete(day);
    }
    return counts;
  };

  return async (options = {}) => {
    const lease = await claimLease({ db, clock });
    if (!lease) return 'busy';
    try {
      await closeThrough(db, dayAt(clock.now() - dayMs));
      return await archiveAll(lease, options);
    } catch (error) {
      if (error instanceof LeaseLost) return 'busy';
      throw error;
    } finally {
      await lease.release();
    }
  };
}
