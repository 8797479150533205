import canonicalize from 'canonicalize';
import { byteas, jsons, texts, uuids } from '../../../kernel/data/binary-arrays.ts';
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { lockGlobal } from '../../../kernel/data/locks.ts';
import { join, prepared, sql } from '../../../kernel/data/sql.ts';
import type { DomainEvent } from '../../../kernel/domain-event.ts';
import { readPrefixFilter } from '../../../kernel/http/input/prefix-filter.ts';
import { offsetOf } from '../../../kernel/http/page.ts';
import { canonicalText, type EventFields } from '../chain/canonical-store.ts';
import type { Period } from '../period.ts';
import type { AuditEvent, AuditQuery } from '../schema.ts';

/** All events of one record have the same time. */
export function append(tx: Tx, events: readonly DomainEvent[], sealOf: (canonical: string) => string): void {
  const rows = events.map(fieldsOf);
  const fields = sql`
    ${uuids(rows.map(({ eventId }) => eventId))}::uuid[],
    ${uuids(rows.map(({ organizationId }) => organizationId))}::uuid[],
    ${uuids(rows.map(({ agentId }) => agentId))}::uuid[], ${texts(rows.map(({ type }) => type))}::text[],
    ${texts(rows.map(({ outcome }) => outcome))}::text[], ${texts(rows.map(({ ipAddress }) => ipAddress))}::text[],
    ${texts(rows.map(({ userAgent }) => userAgent))}::text[], ${jsons(rows.map(({ metadata }) => metadata))}::json[],
    ${byteas(rows.map((row) => sealOf(canonicalText(row))))}::bytea[]`;
  const columns = sql`event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, seal`;
  const timestamp = rows[0]?.timestamp;
  tx.atCommit(
    'audit.append',
    prepared(sql`
      insert into audit_events (${columns}, occurred_at)
      select ${columns}, ${timestamp}::timestamptz from unnest(${fields}) as appended (${columns})`),
  );
}

/** Spelt as PostgreSQL returns them, so that the text of the columns is the sealed one. */
const fieldsOf = (event: DomainEvent): EventFields => ({
  eventId: event.eventId,
  organizationId: event.organizationId.toLowerCase(),
  agentId: event.agentId.toLowerCase(),
  type: event.type,
  outcome: event.outcome,
  ipAddress: event.ipAddress.toWellFormed(),
  userAgent: event.userAgent.toWellFormed(),
  timestamp: event.timestamp,
  metadata: canonicalize(event.metadata) as string,
});

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
 * The metadata name the actor only where it is not the agent that the event is about (kernel/ledger.ts). Searching their text
 * first is cheap, parsing the metadata of every event is not.
 */
const actedBy = (actorId: string) =>
  sql`(agent_id = ${actorId} or strpos(metadata::text, ${actorId}) > 0)
      and coalesce(metadata ->> 'actorId', agent_id::text) = ${actorId}`;

/** The overview groups refusals by the same expression. */
const hasReason = (reason: string) =>
  sql`outcome = 'failure' and left(coalesce(metadata ->> 'reason', metadata ->> 'action'), 200) = ${reason}`;

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
  const { agentId, actorId, action, outcome, reason } = query;
  const matches = join(
    [
      belongsTo(tenant),
      sql`occurred_at between ${isoOf(from)} and ${isoOf(to)}`,
      ...(agentId === undefined ? [] : [sql`agent_id = ${agentId}`]),
      ...(action === undefined ? [] : [isAction(action)]),
      ...(outcome === undefined ? [] : [sql`outcome = ${outcome}`]),
      ...(reason === undefined ? [] : [hasReason(reason)]),
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
