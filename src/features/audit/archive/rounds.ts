/**
 * The rounds of the archive: every closed day of every organization, the oldest first. One process has a round at a time, by a lease. A
 * day that fails is tried again after a while, and the others go on.
 */
import { limits } from '../../../contract/limits.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { nextTurn, type Pace } from '../../../kernel/concurrency/pace.ts';
import { type Db, isTemporary } from '../../../kernel/data/db.ts';
import type { LogEvidence } from '../../instance-log/feature.ts';
import { hasUnlinkedBefore, readLinkingProgress } from '../chain/backlog-store.ts';
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
  findLinkedLate,
  findOrganizations,
  renewRound,
  setLinkedLate,
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

export interface Droppable {
  /** Undefined when it may drop none. */
  readonly through: string | undefined;
  readonly reason?: string;
}

export interface Rounds {
  /** `busy`: another process has a round. */
  round(options?: RoundOptions): Promise<'busy' | RoundResult>;
  /** How many milliseconds ago the oldest day ended that should be archived and is not; 0 when there is none. */
  pendingMs(): Promise<number>;
  /** The last day that retention may drop, of those through this one, and why not all of them. */
  droppable(through: string): Promise<Droppable>;
}

/** Longer than a step of the storage may take: after a kill, another process goes on then. */
const leaseMs = limits.auditArchive.stallSeconds * 1_500;
/** Events are linked within seconds, but after an outage of linking a few days later. */
const linkingDays = 7;
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

  async function* pendingOf(day: string): AsyncGenerator<ArchiveDay, void> {
    let after: string | undefined;
    do {
      const page = await findOrganizations(db, day, { after, limit: organizationsPerPage });
      for (const { id, archived } of page) if (!archived) yield { organizationId: id, day };
      after = page.at(-1)?.id;
    } while (after !== undefined);
  }

  const hasPending = async (day: string): Promise<boolean> => {
    for await (const _ of pendingOf(day)) return true;
    return false;
  };

  const findPendingDay = async (after: string, through: string): Promise<string | undefined> => {
    for (const day of await findDays(db, after, through)) if (await hasPending(day)) return day;
    return undefined;
  };

  /** Why nothing may be dropped: events got their links so late that a much later file has them, which is not written yet. */
  const findLateLinks = async (dropped: string): Promise<string | undefined> => {
    await drain();
    const today = dayAt(clock.now());
    const progress = await readLinkingProgress(db);
    const limit = new Date(clock.now() - linkingDays * dayMs).toISOString();
    if (!progress || (await hasUnlinkedBefore(db, progress, limit))) {
      await setLinkedLate(db, today);
      return `events of more than ${linkingDays} days ago have no link, so no file has them: see the runbook of AuditLinkingDelayed`;
    }
    const late = await findLinkedLate(db);
    if (late === undefined) return undefined;
    const last = daysAfter(late, 1);
    if (today <= last || (await findPendingDay(dropped, last)) !== undefined)
      return `events were linked late, and the days through ${last}, whose files have them, are not all archived`;
    await setLinkedLate(db, null);
    return undefined;
  };

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
    async droppable(through) {
      const dropped = (await chainHeads.dropped(db))?.before ?? '0001-01-01';
      const late = await findLateLinks(dropped);
      if (late !== undefined) return { through: undefined, reason: late };
      const pending = await findPendingDay(dropped, daysAfter(through, linkingDays));
      if (pending === undefined) return { through };
      // Its row was removed, or the database was restored.
      if (pending <= completeThrough) completeThrough = daysAfter(pending, -1);
      if (pending <= measuredThrough) measuredThrough = daysAfter(pending, -1);
      const last = daysAfter(pending, -linkingDays - 1);
      return {
        through: last > dropped ? last : undefined,
        reason: `the day ${pending} is not archived for all organizations, and events of ${linkingDays} days before may be in its files`,
      };
    },
  };
}

class LeaseLost extends Error {}
class NotDue extends Error {}
