import canonicalize from 'canonicalize';
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { lockGlobal } from '../../../kernel/data/locks.ts';
import { join, listOf, prepared, sql } from '../../../kernel/data/sql.ts';
import type { DomainEvent } from '../../../kernel/domain-event.ts';
import { offsetOf } from '../../../kernel/http/page.ts';
import type { AuditEvent, AuditQuery } from '../schema.ts';
import type { Period } from './period.ts';

/**
 * The columns are read out of the canonical text, so that a row cannot say one thing in one place and another elsewhere.
 * `offset 0` keeps the text from being parsed once for each of them. The metadata keep their spelling.
 */
export async function append(
  tx: Tx,
  happenings: readonly DomainEvent[],
  sealOf: (canonical: string) => string,
): Promise<void> {
  const metadata = happenings.map((happening) => canonicalize(happening.metadata) as string);
  const texts = happenings.map((happening, index) => canonicalText(happening, metadata[index] as string));
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
                 as told (canonical, metadata, seal) offset 0) as parsed`),
  );
}

const quoted = JSON.stringify;

/** RFC 8785: members in this order, strings as JSON.stringify writes them. */
const canonicalText = (event: DomainEvent, metadata: string): string =>
  `{"action":${quoted(event.type)},"agentId":${quoted(event.agentId)},"eventId":${quoted(event.eventId)},` +
  `"ipAddress":${quoted(event.ipAddress)},"metadata":${metadata},"organizationId":${quoted(event.organizationId)},` +
  `"outcome":${quoted(event.outcome)},"timestamp":${quoted(event.timestamp)},"userAgent":${quoted(event.userAgent)}}`;

/** One node at a time: two that attach the same day at once would trip over each other. */
export async function makePartitions(tx: Tx, days: readonly string[]): Promise<number> {
  await lockGlobal(tx, 'auditPartitions');
  const { made } = await tx.one<{ made: number }>(
    'audit.partitions.make',
    sql`select count(*) filter (where audit_ensure_partition(day)) as made from unnest(${days}::date[]) as day`,
  );
  return made;
}

const columns = sql`
  event_id as "eventId", agent_id as "agentId", action, outcome, ip_address as "ipAddress", user_agent as "userAgent",
  metadata, occurred_at as "timestamp"`;

/** Undefined is the operator's view: every organization. */
const ofTenant = (organizationId: string | undefined) =>
  organizationId === undefined ? sql`true` : sql`organization_id = ${organizationId}`;

/** The bounds of time keep both questions to the days asked about, and to the index that the tenant or the time leads. */
export async function listEvents(
  db: Queryable,
  tenant: string | undefined,
  query: AuditQuery,
  { from, to }: Period,
): Promise<{ rows: AuditEvent[]; total: number }> {
  const { agentId, action, outcome } = query;
  const matches = join(
    [
      ofTenant(tenant),
      sql`occurred_at between ${isoOf(from)} and ${isoOf(to)}`,
      ...(agentId === undefined ? [] : [sql`agent_id = ${agentId}`]),
      ...(action === undefined ? [] : [sql`action = ${action}`]),
      ...(outcome === undefined ? [] : [sql`outcome = ${outcome}`]),
    ],
    ' and ',
  );
  const { total } = await db.one<{ total: number }>(
    'audit.count',
    sql`select count(*) as total from audit_events where ${matches}`,
  );
  // A page behind the last one would be looked for through the whole log.
  if (offsetOf(query) >= total) return { rows: [], total };
  const rows = await db.many<AuditEvent>(
    'audit.list',
    sql`select ${columns} from audit_events where ${matches}
        order by occurred_at desc, event_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  return { rows, total };
}

/** By the primary key: no index is of the id alone. */
export const findEvent = (
  db: Queryable,
  tenant: string | undefined,
  eventId: string,
  occurredAt: number,
): Promise<AuditEvent | undefined> =>
  db.maybe(
    'audit.find',
    sql`select ${columns} from audit_events
        where occurred_at = ${isoOf(occurredAt)} and event_id = ${eventId} and ${ofTenant(tenant)}`,
  );

const isoOf = (time: number): string => new Date(time).toISOString();
