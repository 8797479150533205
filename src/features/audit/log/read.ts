/** GET /audit and GET /audit/{eventId}: the events of the caller's organization within retention. */
import { type Caller, tenantOf } from '../../../kernel/caller.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Db } from '../../../kernel/data/db.ts';
import { fail } from '../../../kernel/fail.ts';
import { type Page, pageOf } from '../../../kernel/http/page.ts';
import { timeOfUuid } from '../../../kernel/ids.ts';
import { organizationOf } from '../log-owner.ts';
import { periodOf, withinRetention } from '../period.ts';
import type { AuditEvent, AuditQuery } from '../schema.ts';
import { findEvent, listEvents } from './store.ts';

export interface AuditReader {
  list(caller: Caller, query: AuditQuery): Promise<Page<AuditEvent>>;
  get(caller: Caller, eventId: string): Promise<AuditEvent>;
}

interface AuditReaderDeps {
  readonly db: Db;
  readonly clock: Clock;
  /** Whether older events are in the archive. */
  readonly hasArchive: boolean;
}

export function createAuditReader({ db, clock, hasArchive }: AuditReaderDeps): AuditReader {
  return {
    async list(caller, query) {
      const period = periodOf(query, clock.now(), { hasArchive });
      const organizationId = query.organizationId && organizationOf(caller, query.organizationId);
      const { rows, total } = await listEvents(db, organizationId ?? tenantOf(caller), query, period);
      return pageOf(query, rows, total);
    },

    /** The id of an event contains its time, and thus its partition. */
    async get(caller, eventId) {
      const time = timeOfUuid(eventId);
      const event = withinRetention(time, clock.now())
        ? await findEvent(db, tenantOf(caller), eventId, time)
        : undefined;
      return event ?? fail('AUDIT_EVENT_NOT_FOUND');
    },
  };
}
