/** The days that are over and not archived: which organizations they wait for, and how far all are archived. */
import { limits } from '../../../contract/limits.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Db } from '../../../kernel/data/db.ts';
import type { LogEvidence } from '../../instance-log/feature.ts';
import type { ChainHeads } from '../chain/chain-heads.ts';
import { type ArchiveDay, dayAt, daysAfter, endOf } from './names.ts';
import { findDays, findLastTreeHead, findOrganizations } from './store.ts';

export interface PendingDaysDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly chainHeads: Pick<ChainHeads, 'dropped'>;
  /** Undefined without witnesses: then no day waits for them. */
  readonly evidence: LogEvidence | undefined;
}

export interface PendingDays {
  /** Days that are over and may have something to archive, the oldest first. */
  candidates(): Promise<readonly string[]>;
  /** The last day whose events retention has dropped. */
  droppedThrough(): Promise<string>;
  /** A checkpoint that a quorum has cosigned has the last tree head of the day; or it was waited for long enough. */
  isWitnessed(day: string): Promise<boolean>;
  /** In the order of their ids, so that none is met twice. */
  of(day: string): AsyncGenerator<ArchiveDay, void>;
  has(day: string): Promise<boolean>;
  /** The first day with something to archive, after one and through another. */
  first(after: string, through: string): Promise<string | undefined>;
  /** All days through this one are archived: a closed day gets no more segments. */
  markComplete(day: string): void;
  /** A row was removed, or the database was restored: the day is a candidate again. */
  reopen(day: string): void;
  /** How many milliseconds ago the oldest day ended that should be archived and is not; 0 when there is none. */
  oldestMs(): Promise<number>;
}

const beginning = '0001-01-01';
const organizationsPerPage = 200;
const dayMs = 86_400_000;
const quorumMs = limits.auditArchive.quorumHours * 3_600_000;

export function createPendingDays({ db, clock, chainHeads, evidence }: PendingDaysDeps): PendingDays {
  let completeThrough = beginning;
  /** The same for a process whose rounds another one has: it must not count all days again and again. */
  let measuredThrough = beginning;

  const droppedThrough = async () => (await chainHeads.dropped(db))?.before ?? beginning;

  const candidates = async (): Promise<readonly string[]> => {
    const dropped = await droppedThrough();
    if (dropped > completeThrough) completeThrough = dropped;
    return findDays(db, completeThrough, dayAt(clock.now() - dayMs));
  };

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

  const has = async (day: string): Promise<boolean> => {
    for await (const _ of pendingOf(day)) return true;
    return false;
  };

  return {
    candidates,
    droppedThrough,
    isWitnessed,
    of: pendingOf,
    has,
    async first(after, through) {
      for (const day of await findDays(db, after, through)) if (await has(day)) return day;
      return undefined;
    },
    markComplete(day) {
      completeThrough = day;
    },
    reopen(day) {
      if (day <= completeThrough) completeThrough = daysAfter(day, -1);
      if (day <= measuredThrough) measuredThrough = daysAfter(day, -1);
    },
    async oldestMs() {
      const longOver = dayAt(clock.now() - 3 * dayMs);
      for (const day of await candidates()) {
        if (day <= measuredThrough) continue;
        if (!(await isWitnessed(day))) return 0;
        if (await has(day)) return clock.now() - endOf(day);
        if (day <= longOver) measuredThrough = day;
      }
      return 0;
    },
  };
}
