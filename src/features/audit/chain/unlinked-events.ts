/**
 * Unlinked events: this process appended them and has not seen their links. If one is deleted before it is linked, nothing
 * in the database shows it, but the process that appended it knows. Events that its own sequencer links cost no query.
 */
import type { Clock } from '../../../kernel/clock.ts';
import type { Db } from '../../../kernel/data/db.ts';
import type { DomainEvent } from '../../../kernel/domain-event.ts';
import type { Log } from '../../../kernel/observability/log.ts';
import type { Metrics } from '../../../kernel/observability/metrics.ts';
import { type Finding, finding } from '../findings.ts';
import type { IntegrityStatus } from '../integrity-status.ts';
import { isWithin, type Period } from '../period.ts';
import { findEventStates } from './backlog-store.ts';
import type { ChainHeads } from './chain-heads.ts';

export interface UnlinkedEvents {
  /** The transaction of these events has committed. */
  appended(events: readonly Pick<DomainEvent, 'eventId' | 'organizationId' | 'timestamp'>[]): void;
  linked(eventIds: Iterable<string>): void;
  /** Looks up events that should have a link by now, and raises the alarm for a deleted one. */
  check(): Promise<void>;
  /** An event of this organization, and of this period if given, that was deleted without a link. */
  findDeleted(organizationId: string, period?: Period): Promise<Finding | undefined>;
  /** Organizations with unlinked events; after a deletion there may be nothing else of them. */
  organizations(): Iterable<string>;
}

interface Entry {
  readonly eventId: string;
  readonly organizationId: string;
  readonly timestamp: string;
  /** When it should be linked: `check` looks it up from then on. */
  readonly dueAt: number;
}

interface UnlinkedEventsDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly integrity: IntegrityStatus;
  readonly chainHeads: Pick<ChainHeads, 'newest'>;
  /** Beyond this number the oldest entries are dropped: they are the most likely to be linked already. */
  readonly maxEntries?: number;
}

const dueMs = 5_000;
const batchSize = 1_000;
/** The log reports dropped entries this often at the most. */
const remindMs = 60_000;

export function createUnlinkedEvents(deps: UnlinkedEventsDeps): UnlinkedEvents {
  const { db, clock, log, metrics, integrity, chainHeads, maxEntries = 100_000 } = deps;
  /** In the order of appending, or of the last lookup. */
  const entries = new Map<string, Entry>();
  let droppedSinceLog = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;

  /**
   * A Map finds its oldest entry by a scan over deleted slots. Dropping a hundredth of the maximum at once spreads that scan
   * over many entries, so that the cost for each stays constant.
   */
  const dropOldest = () => {
    let excess = entries.size - maxEntries + Math.ceil(maxEntries / 100);
    metrics.count('service_audit_pending_dropped_total', {}, excess);
    droppedSinceLog += excess;
    for (const eventId of entries.keys()) {
      entries.delete(eventId);
      excess -= 1;
      if (excess === 0) break;
    }
    if (clock.now() - loggedAt < remindMs) return;
    log.warn(
      { dropped: droppedSinceLog, maxEntries },
      'too many pending audit events; dropped the oldest: if one of them is deleted before it is linked, this process does not notice',
    );
    loggedAt = clock.now();
    droppedSinceLog = 0;
  };

  const lookUp = async (batch: readonly Entry[]): Promise<Finding | undefined> => {
    let deleted: Finding | undefined;
    const states = await findEventStates(db, batch);
    // An attacker can insert a segment, and delete it together with the event. So a signature must cover the link.
    const heads = await chainHeads.newest(db, [
      ...new Set(batch.map(({ organizationId }) => organizationId)),
    ]);
    for (const { eventId, coveredAt, present } of states) {
      const entry = entries.get(eventId);
      if (!entry) continue;
      const { organizationId } = entry;
      entries.delete(eventId);
      const size = heads.get(organizationId)?.head?.size ?? 0;
      if (present && coveredAt !== null && coveredAt <= size) continue;
      entries.set(eventId, { ...entry, dueAt: clock.now() + dueMs });
      if (present) continue;
      deleted ??= finding('EVENT_DELETED', { organizationId, eventId });
    }
    if (deleted) integrity.raise(deleted);
    return deleted;
  };

  /** Looks up each of these entries once. The query of each batch yields to the event loop. Returns the first finding. */
  const lookUpAll = async (matches: (entry: Entry) => boolean): Promise<Finding | undefined> => {
    const selected = [...entries.values().filter(matches)];
    let first: Finding | undefined;
    for (let start = 0; start < selected.length; start += batchSize) {
      const batch = selected.slice(start, start + batchSize).filter(({ eventId }) => entries.has(eventId));
      const found = batch.length > 0 ? await lookUp(batch) : undefined;
      first ??= found;
    }
    return first;
  };

  return {
    appended(events) {
      const dueAt = clock.now() + dueMs;
      for (const { eventId, organizationId, timestamp } of events)
        entries.set(eventId, { eventId, organizationId, timestamp, dueAt });
      if (entries.size > maxEntries) dropOldest();
    },
    linked(eventIds) {
      for (const eventId of eventIds) entries.delete(eventId);
    },
    async check() {
      const now = clock.now();
      await lookUpAll(({ dueAt }) => dueAt <= now);
    },
    findDeleted: (organizationId, period) =>
      lookUpAll(
        (entry) =>
          entry.organizationId === organizationId &&
          (!period || isWithin(period, Date.parse(entry.timestamp))),
      ),
    organizations: () => new Set(entries.values().map(({ organizationId }) => organizationId)),
  };
}
