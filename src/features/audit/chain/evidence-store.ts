/**
 * The rows that verification and export read, most of them in one snapshot: nothing is appended, linked or dropped while they read.
 */
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { listOf, prepared, sql } from '../../../kernel/data/sql.ts';
import { canonicalOf, storedTextMatches } from './canonical-store.ts';
import type { Link, StoredEvent } from './hashes.ts';
import { forceGenericPlan } from './links-store.ts';

export async function takeSnapshot(tx: Tx): Promise<void> {
  await tx.run('audit.snapshot', sql`set transaction isolation level repeatable read, read only`);
  await forceGenericPlan(tx);
}

export interface EventBundle {
  readonly events: number;
  /** Whether the columns of every row say the same as its stored text, if it has one: the rule of `columnFinding`, in SQL. */
  readonly columnsMatch: boolean | null;
  /** For each event its id and time: 48 hexadecimal digits. */
  readonly keys: string | null;
  readonly texts: string | null;
  readonly lastTime: string | null;
}

export interface EventCursor {
  readonly time: string;
  readonly eventId: string;
}

/** Occurs in no JSON text. */
export const separator = '\u001e';

/**
 * Many events in one text, in the order of time. Reading millions of rows costs more CPU than their hashes, so SQL joins them
 * into a few long texts. Where a row stores its canonical text, SQL builds it from the columns again and compares it.
 */
export const readEventBundle = (
  tx: Queryable,
  organizationId: string,
  after: EventCursor,
  limit: number,
): Promise<EventBundle> =>
  tx.one(
    'audit.events.bundle',
    prepared(sql`
      select count(*) as events, max(occurred_at)::text as "lastTime",
             encode(string_agg(uuid_send(event_id) || timestamptz_send(occurred_at), ''), 'hex') as keys,
             string_agg(concat(appended_in, ' ', encode(seal, 'hex'), ' ', ${canonicalOf('e')}), ${separator}) as texts,
             bool_and(${storedTextMatches('e')}) as "columnsMatch"
      from (
        select event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at,
               canonical, appended_in, seal
        from audit_events
        where organization_id = ${organizationId} and occurred_at >= ${after.time}::timestamptz
          and (occurred_at, event_id) > (${after.time}::timestamptz, ${after.eventId}::uuid)
        order by occurred_at, event_id limit ${limit}
      ) e`),
  );

/**
 * The event of each link, in the order of the links; undefined when there is none. Row by row: to find the exact fault, and
 * for export.
 */
export async function readLinkedEvents(
  tx: Queryable,
  organizationId: string,
  links: readonly Pick<Link, 'eventId' | 'time'>[],
): Promise<(StoredEvent | undefined)[]> {
  const rows = await tx.many<StoredEvent & { eventId: string | null }>(
    'audit.links.read',
    sql`select e.event_id as "eventId", e.organization_id as "organizationId", e.agent_id as "agentId", e.action, e.outcome,
               e.ip_address as "ipAddress", e.user_agent as "userAgent", e.metadata::text as metadata,
               to_char(e.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time, ${canonicalOf('e')} as canonical,
               e.appended_in::text as "appendedIn", coalesce(encode(e.seal, 'hex'), '') as seal
        from unnest(${listOf(links.map(({ eventId }) => eventId))}::uuid[],
                    ${listOf(links.map(({ time }) => time || '-infinity'))}::timestamptz[])
             with ordinality as l (event_id, occurred_at, place)
        left join audit_events e
          on e.occurred_at = l.occurred_at and e.event_id = l.event_id and e.organization_id = ${organizationId}
        order by l.place`,
  );
  return rows.map((row) => (row.eventId === null ? undefined : row));
}
