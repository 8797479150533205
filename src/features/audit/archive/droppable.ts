/** What retention may drop: days whose events are all in files of the archive. */
import type { Clock } from '../../../kernel/clock.ts';
import type { Db } from '../../../kernel/data/db.ts';
import { hasUnlinkedBefore, readLinkingProgress } from '../chain/backlog-store.ts';
import { dayAt, daysAfter } from './names.ts';
import type { PendingDays } from './pending-days.ts';
import { findLinkedLate, setLinkedLate } from './store.ts';

export interface Droppable {
  /** The last day that may be dropped; undefined when none may. */
  readonly through: string | undefined;
  /** Why not all of them. */
  readonly reason?: string;
}

/** Events are linked within seconds, but after an outage of linking a few days later: then a later file has them. */
const linkingDays = 7;
const dayMs = 86_400_000;

export function createDroppable({
  db,
  clock,
  pending,
  drain,
}: {
  readonly db: Db;
  readonly clock: Clock;
  readonly pending: PendingDays;
  /** Links all events that were recorded so far. */
  drain(): Promise<unknown>;
}): (through: string) => Promise<Droppable> {
  /** Why nothing may be dropped: events had no link for so long that only a much later file has them, or none yet. */
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
    if (today <= last || (await pending.first(dropped, last)) !== undefined)
      return `events were linked late, and the days through ${last}, whose files have them, are not all archived`;
    await setLinkedLate(db, null);
    return undefined;
  };

  return async (through) => {
    const dropped = await pending.droppedThrough();
    const late = await findLateLinks(dropped);
    if (late !== undefined) return { through: undefined, reason: late };
    const first = await pending.first(dropped, daysAfter(through, linkingDays));
    if (first === undefined) return { through };
    pending.reopen(first);
    const last = daysAfter(first, -linkingDays - 1);
    return {
      through: last > dropped ? last : undefined,
      reason: `the day ${first} is not archived for all organizations, and events of ${linkingDays} days before may be in its files`,
    };
  };
}
