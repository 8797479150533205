/** What verification reads. It runs in one snapshot, so that nothing is appended, linked or dropped under its eyes. */
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { join, prepared, raw, type Sql, sql } from '../../../kernel/data/sql.ts';
import { offsetOf, type PageRequest } from '../../../kernel/http/page.ts';
import type { Link, StoredEvent } from '../chain/hashes.ts';
import type { CheckpointRow } from '../chain/links-store.ts';
import type { Period } from '../log/period.ts';

/** Which events must have a link. */
export interface Settled {
  /** A snapshot: the sequencer has looked at every event that is visible in it. */
  readonly seen: string;
  /** The first transaction that we cannot know: what claims to come from it or a later one never was. */
  readonly next: string;
}

export const takeSnapshot = (tx: Tx): Promise<number> =>
  tx.run('audit.snapshot', sql`set transaction isolation level repeatable read, read only`);

/** In the snapshot that was taken: what must have a link when the sequencer has looked at this much. */
export async function settledIn(tx: Tx, seen: string): Promise<Settled> {
  const { next } = await tx.one<{ next: string }>(
    'audit.snapshot.end',
    sql`select pg_snapshot_xmax(pg_current_snapshot())::text as next`,
  );
  return { seen, next };
}

const isSettled = ({ seen, next }: Settled): Sql =>
  sql`(pg_visible_in_snapshot(appended_in, ${seen}::pg_snapshot) or appended_in >= ${next}::xid8)`;

/** The same of an event that has been read already. Transactions count to 2⁶⁴, but no server has come near 2⁵³. */
export function settledTest({ seen, next }: Settled): (appendedIn: string) => boolean {
  const [oldestOpen, firstUnseen, open = ''] = seen.split(':');
  const [low, middle, high] = [Number(oldestOpen), Number(firstUnseen), Number(next)];
  const openThen = new Set(open.split(',').map(Number));
  return (appendedIn) => {
    const id = Number(appendedIn);
    return id < low || id >= high || (id < middle && !openThen.has(id));
  };
}

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

/** Row by row. */
const linksWithEvents = ({ organizationId, after, through }: Stretch) => sql`
  audit_links l left join audit_events e
    on e.occurred_at = l.occurred_at and e.event_id = l.event_id and e.organization_id = l.organization_id
  where l.organization_id = ${organizationId} and l.sequence > ${after} and l.sequence <= ${through}`;

/** Empty for `infinity`, which no link of ours has. */
const time = sql`coalesce(to_char(l.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '')`;

/**
 * Rows by the million cost more to read than to check, so they come as few long texts: links and events apart, since
 * looking up each link's event costs most of all.
 */
export interface LinkBundle {
  readonly links: number;
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  /** For each link its record (see chain.ts) and its hash: 192 hexadecimal digits. */
  readonly records: string | null;
}

export const readLinkBundle = (tx: Tx, { organizationId, after, through }: Stretch): Promise<LinkBundle> =>
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
  /** Whether in every row the searchable columns say what the canonical text says. */
  readonly agrees: boolean | null;
  /** For each event its id and time: 48 hexadecimal digits. */
  readonly keys: string | null;
  readonly texts: string | null;
  readonly lastTime: string | null;
}

export interface EventCursor {
  readonly time: string;
  readonly eventId: string;
}

/** Stands in no JSON text. */
export const separator = '\u001e';

/** In the order of time. The canonical text is put together from the columns again and compared. */
export const readEventBundle = (
  tx: Tx,
  organizationId: string,
  after: EventCursor,
  atMost: number,
): Promise<EventBundle> =>
  tx.one(
    'audit.events.bundle',
    prepared(sql`
      select count(*) as events, max(occurred_at)::text as "lastTime",
             encode(string_agg(uuid_send(event_id) || timestamptz_send(occurred_at), ''), 'hex') as keys,
             string_agg(appended_in || ' ' || coalesce(encode(seal, 'hex'), '') || ' ' || canonical, ${separator}) as texts,
             bool_and(canonical = concat(
               '{"action":', to_json(action), ',"agentId":"', agent_id, '","eventId":"', event_id,
               '","ipAddress":', to_json(ip_address), ',"metadata":', metadata, ',"organizationId":"', organization_id,
               '","outcome":', to_json(outcome), ',"timestamp":"', to_char(occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
               '","userAgent":', to_json(user_agent), '}')) as agrees
      from (
        select event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at,
               canonical, appended_in, seal
        from audit_events
        where organization_id = ${organizationId} and occurred_at >= ${after.time}::timestamptz
          and (occurred_at, event_id) > (${after.time}::timestamptz, ${after.eventId}::uuid)
        order by occurred_at, event_id limit ${atMost}
      ) ordered`),
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
               e.ip_address as "ipAddress", e.user_agent as "userAgent", e.metadata::text as metadata,
               to_char(e.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "eventTime", e.canonical,
               e.appended_in::text as "appendedIn", coalesce(encode(e.seal, 'hex'), '') as seal
        from ${linksWithEvents(stretch)} order by l.sequence limit ${atMost}`,
  );
  return rows.map(({ sequence, linkedEventId, time, eventHash, hash, linkedOn, eventTime, ...event }) => ({
    link: { sequence, eventId: linkedEventId, time, eventHash, hash, linkedOn } as Link,
    event: event.canonical === null ? undefined : ({ ...event, time: eventTime } as unknown as StoredEvent),
  }));
}

export async function countSettled(tx: Tx, organizationId: string, settled: Settled): Promise<number> {
  const { events } = await tx.one<{ events: number }>(
    'audit.settled.count',
    sql`select count(*) as events from audit_events where organization_id = ${organizationId}
          and ${isSettled(settled)}`,
  );
  return events;
}

export async function countSettledWithin(
  tx: Tx,
  organizationId: string,
  settled: Settled,
  period: Period,
): Promise<number> {
  const { events } = await tx.one<{ events: number }>(
    'audit.settled.within',
    sql`select count(*) as events from audit_events where organization_id = ${organizationId}
          and occurred_at between ${isoOf(period.from)} and ${isoOf(period.to)}
          and ${isSettled(settled)}`,
  );
  return events;
}

/**
 * One event that nothing links, for whoever asks which; among those of a period, if one is given, which may be open. A link is looked up by
 * its event's id alone (`offset 0` keeps the other conditions out of the look-up): before a table has statistics, the
 * planner takes all links of an organization for a handful, and reads them once for every event.
 */
export const findStray = (
  tx: Tx,
  organizationId: string,
  settled: Settled,
  { from, to }: Partial<Period> = {},
): Promise<{ eventId: string } | undefined> =>
  tx.maybe(
    'audit.stray',
    sql`select e.event_id as "eventId" from audit_events e
        where e.organization_id = ${organizationId}
          ${from === undefined ? sql`` : sql`and e.occurred_at >= ${isoOf(from)}`}
          ${to === undefined ? sql`` : sql`and e.occurred_at <= ${isoOf(to)}`}
          and not exists (
            select from (
              select l.organization_id, l.occurred_at from audit_links l where l.event_id = e.event_id offset 0
            ) linked
            where linked.organization_id = e.organization_id and linked.occurred_at = e.occurred_at
          )
          and ${isSettled(settled)}
        limit 1`,
  );

/** Links and checkpoints are counted from one: nobody would come by what stands before. */
export async function hasUncounted(tx: Tx, organizationId: string): Promise<boolean> {
  const { found } = await tx.one<{ found: boolean }>(
    'audit.uncounted',
    sql`select exists (select from audit_links where organization_id = ${organizationId} and sequence < 1)
            or exists (select from audit_checkpoints where organization_id = ${organizationId} and number < 1) as found`,
  );
  return found;
}

export const uncounted = 'there is a link or a checkpoint before the first';

/** Organizations whose chains have grown since. */
export async function findGrown(tx: Tx, since: string): Promise<string[]> {
  const rows = await tx.many<{ id: string }>(
    'audit.grown',
    sql`select distinct organization_id as id from audit_checkpoints where taken_at >= ${since}`,
  );
  return rows.map(({ id }) => id);
}

/** The next organization in the log, by its id: by what it has of anything, lest one whose evidence is gone be passed over. */
export async function findOrganizationAfter(
  tx: Tx,
  organizationId: string | undefined,
): Promise<string | undefined> {
  const behind = organizationId === undefined ? sql`true` : sql`organization_id > ${organizationId}`;
  const first = ['audit_events', 'audit_links', 'audit_checkpoints'].map(
    (table) =>
      sql`(select organization_id as id from ${raw(table)} where ${behind} order by organization_id limit 1)`,
  );
  const next = await tx.maybe<{ id: string }>(
    'audit.organizations.after',
    sql`select id from (${join(first, ' union all ')}) as first order by id limit 1`,
  );
  return next?.id;
}

export async function findOrganizations(tx: Tx): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const next = await findOrganizationAfter(tx, found.at(-1));
    if (next === undefined) return found;
    found.push(next);
  }
}

/** The last checkpoint that covers no more than so many links. */
export const checkpointUpTo = (
  tx: Tx,
  organizationId: string,
  size: number,
): Promise<CheckpointRow | undefined> =>
  tx.maybe(
    'audit.checkpoints.upTo',
    sql`select ${checkpointColumns} from audit_checkpoints
        where organization_id = ${organizationId} and size <= ${size} order by number desc limit 1`,
  );

/** The first that covers at least so many. */
export const checkpointFrom = (
  tx: Tx,
  organizationId: string,
  after: number,
  size: number,
): Promise<CheckpointRow | undefined> =>
  tx.maybe(
    'audit.checkpoints.from',
    sql`select ${checkpointColumns} from audit_checkpoints
        where organization_id = ${organizationId} and number > ${after} and size >= ${size} order by number limit 1`,
  );
