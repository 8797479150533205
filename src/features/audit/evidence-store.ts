/** What verification reads. It runs in one snapshot, so that nothing is appended, linked or dropped under its eyes. */
import type { Queryable, Tx } from '../../kernel/db.ts';
import { offsetOf, type PageRequest } from '../../kernel/page.ts';
import { prepared, sql } from '../../kernel/sql.ts';
import type { Link, StoredEvent } from './chain.ts';
import type { CheckpointRow, Horizon } from './links-store.ts';
import type { Period } from './period.ts';

export const takeSnapshot = (tx: Tx): Promise<number> =>
  tx.run('audit.snapshot', sql`set transaction isolation level repeatable read, read only`);

const checkpointColumns = sql`
  organization_id as "organizationId", number, size, encode(head, 'hex') as head, encode(previous, 'hex') as previous,
  taken_at as at, key_id as "keyId", signed`;

export const readCheckpoints = (
  db: Queryable,
  organizationId: string,
  after: number,
  atMost: number,
): Promise<(CheckpointRow & { takenOn: string })[]> =>
  db.many(
    'audit.checkpoints.read',
    prepared(sql`
      select ${checkpointColumns}, taken_on as "takenOn" from audit_checkpoints
      where organization_id = ${organizationId} and number > ${after} order by number limit ${atMost}`),
  );

/** Newest first. Numbers have no gaps, so they also say how many there are. */
export async function listCheckpoints(
  db: Queryable,
  organizationId: string,
  page: PageRequest,
): Promise<{ rows: CheckpointRow[]; total: number }> {
  const { total } = await db.one<{ total: number }>(
    'audit.checkpoints.count',
    sql`select coalesce(max(number) - min(number) + 1, 0) as total from audit_checkpoints
        where organization_id = ${organizationId}`,
  );
  const rows = await db.many<CheckpointRow>(
    'audit.checkpoints.list',
    sql`select ${checkpointColumns} from audit_checkpoints where organization_id = ${organizationId}
        order by number desc limit ${page.limit} offset ${offsetOf(page)}`,
  );
  return { rows, total };
}

/** The last checkpoint taken before a time; undefined when none was. */
export const lastCheckpointBefore = (
  db: Queryable,
  organizationId: string,
  time: string,
): Promise<CheckpointRow | undefined> =>
  db.maybe(
    'audit.checkpoints.before',
    sql`select ${checkpointColumns} from audit_checkpoints
        where organization_id = ${organizationId} and taken_at < ${time} order by number desc limit 1`,
  );

export const firstCheckpointSince = (
  db: Queryable,
  organizationId: string,
  time: string,
): Promise<CheckpointRow | undefined> =>
  db.maybe(
    'audit.checkpoints.since',
    sql`select ${checkpointColumns} from audit_checkpoints
        where organization_id = ${organizationId} and taken_at >= ${time} order by number limit 1`,
  );

export interface AnchorRow {
  readonly number: number;
  readonly at: string;
  readonly signed: string;
}

export const newestAnchor = (db: Queryable, organizationId: string): Promise<AnchorRow | undefined> =>
  db.maybe(
    'audit.anchors.newest',
    sql`select number, taken_at as at, signed from audit_anchors
        where organization_id = ${organizationId} order by number desc limit 1`,
  );

export interface Stretch {
  readonly organizationId: string;
  /** Links behind the first sequence, up to and including the other. */
  readonly after: number;
  readonly through: number;
}

const linksWithEvents = ({ organizationId, after, through }: Stretch) => sql`
  audit_links l left join audit_events e
    on e.occurred_at = l.occurred_at and e.event_id = l.event_id and e.organization_id = l.organization_id
  where l.organization_id = ${organizationId} and l.sequence > ${after} and l.sequence <= ${through}`;

const time = sql`to_char(l.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** Everything about a stretch as few long texts: rows by the million cost more to read than to check. */
export interface Bundle {
  readonly links: number;
  readonly events: number;
  readonly settled: number;
  readonly inPeriod: number;
  /** Whether in every row the searchable columns say what the canonical text says. */
  readonly agrees: boolean | null;
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  /** The hashed text of each link and its hash, by lines. */
  readonly lines: string | null;
  readonly texts: string | null;
}

/** Stands in no JSON text. */
export const separator = '\u001e';

/**
 * The canonical text is rebuilt from the columns and compared; only the metadata, whose spelling a column does not keep,
 * is read out of it. On a text that is no such JSON the query fails.
 */
export const readBundle = (
  tx: Tx,
  stretch: Stretch,
  { settledBefore, next }: Pick<Horizon, 'settledBefore' | 'next'>,
  period: Period | undefined,
): Promise<Bundle> =>
  tx.one(
    'audit.bundle',
    prepared(sql`
      select count(*) as links, count(canonical) as events,
             count(canonical) filter (where settled) as settled, count(canonical) filter (where "inPeriod") as "inPeriod",
             bool_and(left(canonical, length(head)) = head and right(canonical, length(tail)) = tail
                      and substr(canonical, length(head) + 1, length(canonical) - length(head) - length(tail))::jsonb = metadata
             ) filter (where canonical is not null) as agrees,
             min(linked_on) as "firstDay", max(linked_on) as "lastDay",
             string_agg(line, E'\n') as lines, string_agg(text, ${separator}) as texts
      from (
        select canonical, metadata, linked_on, settled, "inPeriod", line, text,
               '{"action":' || to_json(action)::text || ',"agentId":"' || agent_id || '","eventId":"' || event_id
               || '","ipAddress":' || to_json(ip_address)::text || ',"metadata":' as head,
               ',"organizationId":"' || organization_id || '","outcome":' || to_json(outcome)::text || ',"timestamp":"'
               || left(time, 23) || 'Z","userAgent":' || to_json(user_agent)::text || '}' as tail
        from (
          select e.*, l.linked_on, ${time} as time,
                 e.appended_in < ${settledBefore}::xid8 or e.appended_in >= ${next}::xid8 as settled,
                 e.occurred_at between ${isoOf(period?.from)}::timestamptz and ${isoOf(period?.to)}::timestamptz as "inPeriod",
                 l.sequence || ' ' || l.event_id || ' ' || ${time} || ' ' || encode(l.event_hash, 'hex') || ' '
                 || encode(l.hash, 'hex') as line,
                 e.appended_in || ' ' || coalesce(encode(e.seal, 'hex'), '') || ' ' || e.canonical as text
          from ${linksWithEvents(stretch)}
          order by l.sequence
        ) rows
      ) spelt`),
  );

const isoOf = (milliseconds: number | undefined): string | null =>
  milliseconds === undefined ? null : new Date(milliseconds).toISOString();

export interface LinkRow {
  readonly link: Link;
  readonly event: StoredEvent | undefined;
}

/** The same one by one, for finding out what is wrong, and for export. */
export async function readLinks(tx: Queryable, stretch: Stretch, atMost: number): Promise<LinkRow[]> {
  const rows = await tx.many<Record<string, unknown> & { canonical: string | null }>(
    'audit.links.read',
    sql`select l.sequence, l.event_id as "linkedEventId", ${time} as time, encode(l.event_hash, 'hex') as "eventHash",
               encode(l.hash, 'hex') as hash, l.linked_on as "linkedOn", e.event_id as "eventId",
               e.organization_id as "organizationId", e.agent_id as "agentId", e.action, e.outcome,
               e.ip_address as "ipAddress", e.user_agent as "userAgent", e.metadata,
               to_char(e.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "eventTime", e.canonical,
               e.appended_in::text as "appendedIn", coalesce(encode(e.seal, 'hex'), '') as seal
        from ${linksWithEvents(stretch)} order by l.sequence limit ${atMost}`,
  );
  return rows.map(({ sequence, linkedEventId, time, eventHash, hash, linkedOn, eventTime, ...event }) => ({
    link: { sequence, eventId: linkedEventId, time, eventHash, hash, linkedOn } as Link,
    event: event.canonical === null ? undefined : ({ ...event, time: eventTime } as unknown as StoredEvent),
  }));
}

/** Events that must have a link by now; `next` catches what claims to come from a transaction that never was. */
export async function countSettled(
  tx: Tx,
  organizationId: string,
  { settledBefore, next }: Pick<Horizon, 'settledBefore' | 'next'>,
): Promise<number> {
  const { events } = await tx.one<{ events: number }>(
    'audit.settled.count',
    sql`select count(*) as events from audit_events where organization_id = ${organizationId}
          and (appended_in < ${settledBefore}::xid8 or appended_in >= ${next}::xid8)`,
  );
  return events;
}

export async function countSettledWithin(
  tx: Tx,
  organizationId: string,
  { settledBefore, next }: Pick<Horizon, 'settledBefore' | 'next'>,
  period: Period,
): Promise<number> {
  const { events } = await tx.one<{ events: number }>(
    'audit.settled.within',
    sql`select count(*) as events from audit_events where organization_id = ${organizationId}
          and occurred_at between ${isoOf(period.from)} and ${isoOf(period.to)}
          and (appended_in < ${settledBefore}::xid8 or appended_in >= ${next}::xid8)`,
  );
  return events;
}

/** One event that nothing links, for whoever asks which. */
export const findStray = (
  tx: Tx,
  organizationId: string,
  { settledBefore, next }: Pick<Horizon, 'settledBefore' | 'next'>,
): Promise<{ eventId: string } | undefined> =>
  tx.maybe(
    'audit.stray',
    sql`select event_id as "eventId" from audit_events e where organization_id = ${organizationId}
          and (appended_in < ${settledBefore}::xid8 or appended_in >= ${next}::xid8)
          and not exists (select from audit_links l where l.event_id = e.event_id and l.occurred_at = e.occurred_at
                          and l.organization_id = e.organization_id)
        order by occurred_at limit 1`,
  );
