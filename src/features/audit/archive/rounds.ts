/**
 * The rounds of the archive: every closed day of every organization, the oldest first. One process has a round at a time, by a lease. A
 * day that fails is tried again after a while, and the others go on.
 */
import { limits } from '../../../contract/limits.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { nextTurn, type Pace } from '../../../kernel/concurrency/pace.ts';
import { type Db, isTemporary } from '../../../kernel/data/db.ts';
import type { LogEvidence } from '../../instance-log/feature.ts';
import type { ChainHeads } from '../chain/chain-heads.ts';
import type { Alarm } from './alarm.ts';
import type { ArchiveOneDay, ArchiveRun } from './archive-day.ts';
import { ArchiveFault } from './fault.ts';
import { type ArchiveDay, dayAt, daysAfter, endOf } from './names.ts';
import {
  type ArchiveRow,
  claimRound,
  closeThrough,
  findDays,
  findLastTreeHead,
  findPending,
  renewRound,
} from './store.ts';

interface RoundsDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly chainHeads: Pick<ChainHeads, 'dropped'>;
  /** Undefined without witnesses: then no day waits for them. */
  readonly evidence: LogEvidence | undefined;
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

export interface Rounds {
  /** `busy`: another process has a round. */
  round(options?: RoundOptions): Promise<'busy' | RoundResult>;
  /** How many milliseconds ago the oldest day ended that should be archived and is not; 0 when there is none. */
  pendingMs(): Promise<number>;
  /** The last day through this one that retention may drop with the evidence of the next day; undefined when there is none. */
  droppableThrough(day: string): Promise<string | undefined>;
}

/** Longer than a step of the storage may take: after a kill, another process goes on then. */
const leaseMs = limits.auditArchive.stallSeconds * 1_500;
const organizationsPerPage = 200;
/** So many failures of the storage one after the other: the others would fail, too. The round ends. */
const maxStorageFailures = 3;
const dayMs = 86_400_000;
const quorumMs = limits.auditArchive.quorumHours * 3_600_000;

export function createRounds(deps: RoundsDeps): Rounds {
  const { db, clock, chainHeads, evidence, archiveDay, alarm, pace, drain } = deps;
  /** All days through this one are archived: a closed day gets no more segments. */
  let completeThrough = '0001-01-01';
  /** The same for a process whose rounds another one has: it must not count all days again and again. */
  let measuredThrough = '0001-01-01';

  const isoAfter = (milliseconds: number) => new Date(clock.now() + milliseconds).toISOString();

  /** Days whose events no retention has dropped, and that are over. */
  const findCandidates = async (): Promise<readonly string[]> => {
    const dropped = (await chainHeads.dropped(db))?.before ?? '';
    if (dropped > completeThrough) completeThrough = dropped;
    return findDays(db, completeThrough, dayAt(clock.now() - dayMs));
  };

  /** A checkpoint that a quorum has cosigned has the last tree head of the day; or it was waited for long enough. */
  const isWitnessed = async (day: string): Promise<boolean> => {
    if (!evidence || clock.now() >= endOf(day) + quorumMs) return true;
    const at = await evidence.checkpoint(db);
    if (!at?.hasQuorum) return false;
    return at.highestTreeHead >= (await findLastTreeHead(db, day));
  };

  const hasPending = async (day: string): Promise<boolean> =>
    (await findPending(db, day, { after: undefined, limit: 1 })).length > 0;

  async function* pendingOf(day: string): AsyncGenerator<ArchiveDay, void> {
    let after: string | undefined;
    do {
      const found = await findPending(db, day, { after, limit: organizationsPerPage });
      for (const organizationId of found) yield { organizationId, day };
      after = found.at(-1);
    } while (after !== undefined);
  }

  const createLease = async () => {
    let endsAt = isoAfter(leaseMs);
    if (!(await claimRound(db, { now: isoAfter(0), endsAt }))) return undefined;
    const renew = async (until: string | null) => {
      const isOurs = await renewRound(db, { endsAt, until });
      endsAt = until ?? endsAt;
      return isOurs;
    };
    return {
      async keep() {
        if (Date.parse(endsAt) - clock.now() > (leaseMs * 2) / 3) return;
        if (!(await renew(isoAfter(leaseMs)))) throw new LeaseLost();
      },
      release: () => renew(null),
    };
  };

  const archiveAll = async (
    lease: { keep(): Promise<void> },
    { signal, onArchived, onFailed, onProgress }: RoundOptions,
  ) => {
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
    const days = await findCandidates();
    // Also when an earlier round has closed the days: it may have ended before the last events under them were linked.
    if (days.length > 0) await drain();
    let isComplete = true;
    for (const day of days) {
      if (!(await isWitnessed(day))) {
        if (await hasPending(day)) counts.waitingFrom = day;
        break;
      }
      for await (const pending of pendingOf(day)) {
        if (signal?.aborted || storageFailures >= maxStorageFailures) return counts;
        await lease.keep();
        try {
          if (!alarm.isDue(pending)) throw new NotDue();
          const row = await archiveDay(pending, runOf(pending));
          counts.archived += 1;
          storageFailures = 0;
          alarm.clear(pending);
          onArchived?.(row);
        } catch (error) {
          if (signal?.aborted) return counts;
          if (isTemporary(error) || error instanceof LeaseLost) throw error;
          counts.failed += 1;
          isComplete = false;
          if (error instanceof NotDue) continue;
          storageFailures =
            error instanceof ArchiveFault && error.cause === 'storage' ? storageFailures + 1 : 0;
          alarm.raise(pending, error);
          onFailed?.(pending, (error as Error).message);
        }
      }
      if (isComplete) completeThrough = day;
    }
    return counts;
  };

  return {
    async round(options = {}) {
      const lease = await createLease();
      if (!lease) return 'busy';
      try {
        await closeThrough(db, dayAt(clock.now() - dayMs));
        return await archiveAll(lease, options);
      } catch (error) {
        if (error instanceof LeaseLost) return 'busy';
        throw error;
      } finally {
        await lease.release().catch(() => {});
      }
    },
    async pendingMs() {
      const longOver = dayAt(clock.now() - 3 * dayMs);
      for (const day of await findCandidates()) {
        if (day <= measuredThrough) continue;
        if (!(await isWitnessed(day))) return 0;
        if (await hasPending(day)) return clock.now() - endOf(day);
        if (day <= longOver) measuredThrough = day;
      }
      return 0;
    },
    async droppableThrough(through) {
      const dropped = (await chainHeads.dropped(db))?.before ?? '0001-01-01';
      for (const day of await findDays(db, dropped, daysAfter(through, 1))) {
        if (!(await hasPending(day))) continue;
        // Its row was removed, or the database was restored.
        if (day <= completeThrough) completeThrough = daysAfter(day, -1);
        if (day <= measuredThrough) measuredThrough = daysAfter(day, -1);
        const last = daysAfter(day, -2);
        return last > dropped ? last : undefined;
      }
      return through;
    },
  };
}

class LeaseLost extends Error {}
class NotDue extends Error {}
