/**
 * The rows that verification and export read, in one snapshot: nothing is appended, linked or dropped while they read.
 */
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { prepared, sql } from '../../../kernel/data/sql.ts';
import type { Link, StoredEvent } from '../chain/hashes.ts';
import { canonicalOf, storedTextMatches } from '../log/canonical-store.ts';

export const takeSnapshot = (tx: Tx): Promise<number> =>
  tx.run('audit.snapshot', sql`set transaction isolation level repeatable read, read only`);

/** The links of one chain after the sequence `after`, through the sequence `through`. */
export interface LinkRange {
  readonly organizationId: string;
  readonly after: number;
  readonly through: number;
}

const linksWithEvents = ({ organizationId, after, through }: LinkRange) => sql`
  audit_links l left join audit_events e
    on e.occurred_at = l.occurred_at and e.event_id = l.event_id and e.organization_id = l.organization_id
  where l.organization_id = ${organizationId} and l.sequence > ${after} and l.sequence <= ${through}`;

/** Empty for `infinity`, which no genuine link has. */
const time = sql`coalesce(to_char(l.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '')`;

/**
 * Many links in one text. Reading millions of rows costs more CPU than their hashes, so SQL joins them into a few long
 * texts. Links and events are read apart, because a join of each link with its event costs the most.
 */
export interface LinkBundle {
  readonly links: number;
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  /** For each link its record (see `linkRecord`) and its hash: 192 hexadecimal digits. */
  readonly records: string | null;
}

export const readLinkBundle = (tx: Tx, { organizationId, after, through }: LinkRange): Promise<LinkBundle> =>
  tx.one(
    'audit.links.bundle',
    prepared(sql`
      select count(*) as links, min(linked_on) as "firstDay", max(linked_on) as "lastDay",
             encode(string_agg(int8send(sequence) || uuid_send(event_id) || timestamptz_send(occurred_at) || event_hash || hash,
                               ''), 'hex') as records
      from (select sequence, event_id, occurred_at, event_hash, hash, linked_on from audit_links
            where organization_id = ${organizationId} and sequence > ${after} and sequence <= ${through}
            order by sequence) ordered`),
  );

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

/** In the order of time. Where a row stores its canonical text, SQL builds it from the columns again and compares it. */
export const readEventBundle = (
  tx: Tx,
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

export interface LinkRow {
  readonly link: Link;
  readonly event: StoredEvent | undefined;
}

/** Links with their events, row by row: to find the exact fault, and for export. */
export async function readLinks(tx: Queryable, range: LinkRange, limit: number): Promise<LinkRow[]> {
  const rows = await tx.many<Record<string, unknown> & { canonical: string | null }>(
    'audit.links.read',
    sql`select l.sequence, l.event_id as "linkedEventId", ${time} as time, encode(l.event_hash, 'hex') as "eventHash",
               encode(l.hash, 'hex') as hash, l.linked_on as "linkedOn", e.event_id as "eventId",
               e.organization_id as "organizationId", e.agent_id as "agentId", e.action, e.outcome,
               e.ip_address as "ipAddress", e.user_agent as "userAgent", e.metadata::text as metadata,
               to_char(e.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "eventTime", ${canonicalOf('e')} as canonical,
               e.appended_in::text as "appendedIn", coalesce(encode(e.seal, 'hex'), '') as seal
        from ${linksWithEvents(range)} order by l.sequence limit ${limit}`,
  );
  return rows.map(({ sequence, linkedEventId, time, eventHash, hash, linkedOn, eventTime, ...event }) => ({
    link: { sequence, eventId: linkedEventId, time, eventHash, hash, linkedOn } as Link,
    event: event.canonical === null ? undefined : ({ ...event, time: eventTime } as unknown as StoredEvent),
  }));
}
