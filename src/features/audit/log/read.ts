/** GET /audit and GET /audit/{eventId}: the events of the caller's organization within retention. */
import { type Caller, tenantOf } from '../../../kernel/caller.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { createFairQueue } from '../../../kernel/concurrency/fair-queue.ts';
import type { Db } from '../../../kernel/data/db.ts';
import { fail } from '../../../kernel/fail.ts';
import { type Page, pageOf } from '../../../kernel/http/page.ts';
import { timeOfUuid } from '../../../kernel/ids.ts';
import type { Metrics } from '../../../kernel/observability/metrics.ts';
import type { AuditEvent, AuditQuery } from '../schema.ts';
import { organizationOf } from '../tenancy.ts';
import { periodOf, withinRetention } from './period.ts';
import { findEvent, listEvents } from './store.ts';

export interface AuditReader {
  list(caller: Caller, query: AuditQuery): Promise<Page<AuditEvent>>;
  get(caller: Caller, eventId: string): Promise<AuditEvent>;
}

/** Counting a long log takes long. One organization must not use all connections. */
const listLimits = { concurrency: 3, maxQueue: 500 } as const;

interface AuditReaderDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

export function createAuditReader({ db, clock, metrics }: AuditReaderDeps): AuditReader {
  const runQueued = createFairQueue({ ...listLimits, measured: { metrics, name: 'audit_lists' } });

  return {
    async list(caller, query) {
      const period = periodOf(query, clock.now());
      const organizationId = query.organizationId && organizationOf(caller, query.organizationId);
      const { rows, total } = await runQueued(caller.organizationId, () =>
        listEvents(db, organizationId ?? tenantOf(caller), query, period),
      );
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
