import canonicalize from 'canonicalize';
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { lockGlobal } from '../../../kernel/data/locks.ts';
import { join, listOf, prepared, sql } from '../../../kernel/data/sql.ts';
import type { DomainEvent } from '../../../kernel/domain-event.ts';
import { readPrefixFilter } from '../../../kernel/http/input/prefix-filter.ts';
import { offsetOf } from '../../../kernel/http/page.ts';
import type { AuditEvent, AuditQuery } from '../schema.ts';
import type { Period } from './period.ts';

/**
 * SQL reads the columns out of the canonical text, so that a row cannot contradict itself. `offset 0` lets PostgreSQL parse
 * the text once, not once per column. The metadata keep their spelling.
 */
export async function append(
  tx: Tx,
  events: readonly DomainEvent[],
  sealOf: (canonical: string) => string,
): Promise<void> {
  const metadata = events.map((event) => canonicalize(event.metadata) as string);
  const texts = events.map((event, index) => canonicalText(event, metadata[index] as string));
  tx.atCommit(
    'audit.append',
    prepared(sql`
      insert into audit_events
        (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at, canonical,
         seal)
      select (event ->> 'eventId')::uuid, (event ->> 'organizationId')::uuid, (event ->> 'agentId')::uuid,
             event ->> 'action', event ->> 'outcome', event ->> 'ipAddress', event ->> 'userAgent',
             metadata::json, (event ->> 'timestamp')::timestamptz, canonical, decode(seal, 'hex')
      from (select canonical, metadata, seal, canonical::jsonb as event
            from unnest(${listOf(texts)}, ${listOf(metadata)}, ${listOf(texts.map(sealOf))})
                 as appended (canonical, metadata, seal) offset 0) as parsed`),
  );
}

const quote = JSON.stringify;

/** RFC 8785: members in this order, strings as JSON.stringify writes them. */
const canonicalText = (event: DomainEvent, metadata: string): string =>
  `{"action":${quote(event.type)},"agentId":${quote(event.agentId)},"eventId":${quote(event.eventId)},` +
  `"ipAddress":${quote(event.ipAddress)},"metadata":${metadata},"organizationId":${quote(event.organizationId)},` +
  `"outcome":${quote(event.outcome)},"timestamp":${quote(event.timestamp)},"userAgent":${quote(event.userAgent)}}`;

/** Under a lock: two nodes that attach the same day at once would fail. Returns the number of new partitions. */
export async function createMissingPartitions(tx: Tx, days: readonly string[]): Promise<number> {
  await lockGlobal(tx, 'auditPartitions');
  const { created } = await tx.one<{ created: number }>(
    'audit.partitions.make',
    sql`select count(*) filter (where audit_ensure_partition(day)) as created from unnest(${days}::date[]) as day`,
  );
  return created;
}

export const eventColumns = sql`
  event_id as "eventId", agent_id as "agentId", action, outcome, ip_address as "ipAddress", user_agent as "userAgent",
  metadata, occurred_at as "timestamp"`;

/** Undefined means every organization, for the operator. */
const belongsTo = (organizationId: string | undefined) =>
  organizationId === undefined ? sql`true` : sql`organization_id = ${organizationId}`;

/**
 * The metadata name the actor only where it is not the agent that the event is about (kernel/ledger.ts). The canonical text has both:
 * searching it first is cheap, parsing the metadata of every event is not.
 */
const actedBy = (actorId: string) =>
  sql`strpos(canonical, ${actorId}) > 0 and coalesce(metadata ->> 'actorId', agent_id::text) = ${actorId}`;

const isAction = (action: string) => {
  const filter = readPrefixFilter(action);
  return 'prefix' in filter ? sql`starts_with(action, ${filter.prefix})` : sql`action = ${filter.name}`;
};

/** The bounds of time limit both queries to the partitions of those days, and to an index on tenant or time. */
export async function listEvents(
  db: Queryable,
  tenant: string | undefined,
  query: AuditQuery,
  { from, to }: Period,
): Promise<{ rows: AuditEvent[]; total: number }> {
  const { agentId, actorId, action, outcome } = query;
  const matches = join(
    [
      belongsTo(tenant),
      sql`occurred_at between ${isoOf(from)} and ${isoOf(to)}`,
      ...(agentId === undefined ? [] : [sql`agent_id = ${agentId}`]),
      ...(action === undefined ? [] : [isAction(action)]),
      ...(outcome === undefined ? [] : [sql`outcome = ${outcome}`]),
      ...(actorId === undefined ? [] : [actedBy(actorId.toLowerCase())]),
    ],
    ' and ',
  );
  const { total } = await db.one<{ total: number }>(
    'audit.count',
    sql`select count(*) as total from audit_events where ${matches}`,
  );
  // The query for a page after the last one would scan the whole log.
  if (offsetOf(query) >= total) return { rows: [], total };
  const rows = await db.many<AuditEvent>(
    'audit.list',
    sql`select ${eventColumns} from audit_events where ${matches}
        order by occurred_at desc, event_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  return { rows, total };
}

/** By the primary key: no index has the id alone. */
export const findEvent = (
  db: Queryable,
  tenant: string | undefined,
  eventId: string,
  occurredAt: number,
): Promise<AuditEvent | undefined> =>
  db.maybe(
    'audit.find',
    sql`select ${eventColumns} from audit_events
        where occurred_at = ${isoOf(occurredAt)} and event_id = ${eventId} and ${belongsTo(tenant)}`,
  );

const isoOf = (time: number): string => new Date(time).toISOString();
