/**
 * The events that this process appended and has not seen linked yet. If one is deleted before it is linked, nothing in the
 * database shows it, but the process that appended it knows. Events that its own sequencer links cost no query.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/db.ts';
import type { Happening } from '../../kernel/ledger.ts';
import type { Alarm, Finding } from './alarm.ts';
import { findWhereabouts } from './backlog-store.ts';
import type { Period } from './period.ts';

export interface Pending {
  /** The transaction of these events is durable. */
  appended(events: readonly Pick<Happening, 'eventId' | 'organizationId' | 'timestamp'>[]): void;
  linked(eventIds: Iterable<string>): void;
  /** Looks for events that should have been linked by now, and raises the alarm for one that is gone. */
  check(): Promise<void>;
  /** An event of this organization, and of this period if given, that is gone without a link. */
  missing(organizationId: string, period?: Period): Promise<Finding | undefined>;
  /** Organizations with pending events; after a deletion there may be nothing else of them. */
  organizations(): Iterable<string>;
}

interface Entry {
  readonly eventId: string;
  readonly organizationId: string;
  readonly timestamp: string;
  readonly appendedAt: number;
}

const dueMs = 5_000;
const maxEntries = 100_000;
const batchSize = 1_000;

export function createPending({ db, clock, alarm }: { db: Db; clock: Clock; alarm: Alarm }): Pending {
  /** In the order of appending, or of the last look. */
  const entries = new Map<string, Entry>();

  /** Answers with the first that is gone. */
  const lookFor = async (batch: readonly Entry[]): Promise<Finding | undefined> => {
    let found: Finding | undefined;
    for (const { eventId, linked, present } of await findWhereabouts(db, batch)) {
      const entry = entries.get(eventId);
      if (!entry) continue;
      entries.delete(eventId);
      if (linked) continue;
      entries.set(eventId, entry);
      if (present) continue;
      const { organizationId } = entry;
      found ??= {
        organizationId,
        eventId,
        problem: 'the event was recorded, and deleted before it was linked',
      };
    }
    if (found) alarm.raise(found);
    return found;
  };

  const select = (matches: (entry: Entry) => boolean, atMost: number): Entry[] => {
    const selected: Entry[] = [];
    for (const entry of entries.values()) {
      if (selected.length === atMost) break;
      if (matches(entry)) selected.push(entry);
    }
    return selected;
  };

  return {
    appended(events) {
      const appendedAt = clock.now();
      for (const { eventId, organizationId, timestamp } of events)
        entries.set(eventId, { eventId, organizationId, timestamp, appendedAt });
      for (const eventId of entries.keys()) {
        if (entries.size <= maxEntries) return;
        entries.delete(eventId);
      }
    },
    linked(eventIds) {
      for (const eventId of eventIds) entries.delete(eventId);
    },
    async check() {
      const due = clock.now() - dueMs;
      const batch = select(({ appendedAt }) => appendedAt <= due, batchSize);
      if (batch.length > 0) await lookFor(batch);
    },
    async missing(organizationId, period) {
      const own = select(
        (entry) =>
          entry.organizationId === organizationId &&
          (!period || isWithin(Date.parse(entry.timestamp), period)),
        maxEntries,
      );
      let found: Finding | undefined;
      for (let at = 0; at < own.length && !found; at += batchSize)
        found = await lookFor(own.slice(at, at + batchSize));
      return found;
    },
    organizations: () => new Set(entries.values().map(({ organizationId }) => organizationId)),
  };
}

const isWithin = (time: number, { from, to }: Period): boolean => time >= from && time <= to;
