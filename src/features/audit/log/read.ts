/** Reading the log: what happened in the caller's organization, within what is kept. */
import { type Caller, tenantOf } from '../../../kernel/caller.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { createFairQueue } from '../../../kernel/concurrency/fair-queue.ts';
import type { Db } from '../../../kernel/data/db.ts';
import { fail } from '../../../kernel/fail.ts';
import { type Page, pageOf } from '../../../kernel/http/page.ts';
import { timeOfUuid } from '../../../kernel/ids.ts';
import type { AuditEvent, AuditQuery } from '../schema.ts';
import { periodAsked, withinRetention } from './period.ts';
import { findEvent, listEvents } from './store.ts';

export interface AuditReader {
  list(caller: Caller, query: AuditQuery): Promise<Page<AuditEvent>>;
  get(caller: Caller, eventId: string): Promise<AuditEvent>;
}

/** A long log takes its time to be counted: that must not take every connection from the others. */
const listings = { concurrency: 3, maxQueue: 500 } as const;

export function createAuditReader({ db, clock }: { db: Db; clock: Clock }): AuditReader {
  const inTurn = createFairQueue(listings);

  return {
    async list(caller, query) {
      const period = periodAsked(query, clock.now());
      const { rows, total } = await inTurn(caller.organizationId, () =>
        listEvents(db, tenantOf(caller), query, period),
      );
      return pageOf(query, rows, total);
    },

    /** An event's id is made of its time, and so says where it is, and whether it is still kept. */
    async get(caller, eventId) {
      const time = timeOfUuid(eventId);
      const event = withinRetention(time, clock.now())
        ? await findEvent(db, tenantOf(caller), eventId, time)
        : undefined;
      return event ?? fail('AUDIT_EVENT_NOT_FOUND');
    },
  };
}
