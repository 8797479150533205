/** `signal_streams`. */
import type { Queryable } from '../../kernel/data/db.ts';
import { columnByUuid } from '../../kernel/data/encrypted-column.ts';
import { sql } from '../../kernel/data/sql.ts';
import type { SubjectId } from './event-types.ts';

export const encryptedAuthorizationHeaders = columnByUuid('signals', {
  table: 'signal_streams',
  key: 'stream_id',
  column: 'authorization_header',
});

export interface StoredStream {
  readonly streamId: string;
  readonly organizationId: string;
  readonly agentId: string;
  readonly method: 'poll' | 'push';
  readonly endpointUrl: string | null;
  /** Sealed for the stream's id. */
  readonly authorizationHeader: string | null;
  readonly eventsRequested: readonly string[] | null;
  readonly description: string | null;
  readonly status: 'enabled' | 'paused' | 'disabled';
  readonly statusReason: string | null;
  readonly inactivityTimeout: number | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

const columns = sql`
  stream_id as "streamId", organization_id as "organizationId", agent_id as "agentId", method, endpoint_url as "endpointUrl",
  authorization_header as "authorizationHeader", events_requested as "eventsRequested", description, status,
  status_reason as "statusReason", inactivity_timeout as "inactivityTimeout", created_at as "createdAt",
  updated_at as "updatedAt"`;

/** The streams of the organization, or only those of one of its agents. Undefined for operators: they see every organization. */
export interface StreamOwner {
  readonly organizationId: string | undefined;
  readonly agentId?: string | undefined;
}

const ownedBy = ({ organizationId, agentId }: StreamOwner) => sql`
  (${organizationId ?? null}::uuid is null or organization_id = ${organizationId ?? null}::uuid)
  and (${agentId ?? null}::uuid is null or agent_id = ${agentId ?? null}::uuid)`;

export async function insertStream(tx: Queryable, stream: StoredStream): Promise<void> {
  await tx.run(
    'signals.insertStream',
    sql`insert into signal_streams
          (stream_id, organization_id, agent_id, method, endpoint_url, authorization_header, events_requested, description,
           status, inactivity_timeout, last_polled_at, push_due_at, created_at, updated_at)
        values
          (${stream.streamId}, ${stream.organizationId}, ${stream.agentId}, ${stream.method}, ${stream.endpointUrl},
           ${stream.authorizationHeader}, ${stream.eventsRequested}::text[], ${stream.description}, ${stream.status},
           ${stream.inactivityTimeout}, ${stream.createdAt}, ${stream.createdAt}, ${stream.createdAt}, ${stream.updatedAt})`,
  );
}

export const countStreams = (
  tx: Queryable,
  organizationId: string,
  agentId: string,
): Promise<{ ofAgent: number; ofOrganization: number }> =>
  tx.one(
    'signals.countStreams',
    sql`select count(*) filter (where agent_id = ${agentId}) as "ofAgent", count(*) as "ofOrganization"
        from signal_streams where organization_id = ${organizationId}`,
  );

export const listStreams = (db: Queryable, owner: StreamOwner): Promise<StoredStream[]> =>
  db.many(
    'signals.listStreams',
    sql`select ${columns} from signal_streams where ${ownedBy(owner)} order by created_at, stream_id`,
  );

export const findStream = (
  db: Queryable,
  owner: StreamOwner,
  streamId: string,
): Promise<StoredStream | undefined> =>
  db.maybe(
    'signals.findStream',
    sql`select ${columns} from signal_streams where stream_id = ${streamId} and ${ownedBy(owner)}`,
  );

export const lockStream = (
  tx: Queryable,
  owner: StreamOwner,
  streamId: string,
): Promise<StoredStream | undefined> =>
  tx.maybe(
    'signals.lockStream',
    sql`select ${columns} from signal_streams where stream_id = ${streamId} and ${ownedBy(owner)} for no key update`,
  );

/** A changed stream is tried at once. The worker that sends to it loses its lease: it has the old address and header. */
export async function updateStream(tx: Queryable, stream: StoredStream): Promise<void> {
  await tx.run(
    'signals.updateStream',
    sql`update signal_streams
        set method = ${stream.method}, endpoint_url = ${stream.endpointUrl},
            authorization_header = ${stream.authorizationHeader}, events_requested = ${stream.eventsRequested}::text[],
            description = ${stream.description}, status = ${stream.status}, status_reason = ${stream.statusReason},
            inactivity_timeout = ${stream.inactivityTimeout}, last_polled_at = ${stream.updatedAt},
            push_failures = 0, push_due_at = ${stream.updatedAt}, push_lease = null, updated_at = ${stream.updatedAt}
        where stream_id = ${stream.streamId}`,
  );
}

export async function deleteStream(tx: Queryable, streamId: string): Promise<void> {
  await tx.run('signals.deleteStream', sql`delete from signal_streams where stream_id = ${streamId}`);
}

/** Deletes poll streams without any use for too long, and streams of agents that are gone. Rows that are locked are left to the next round. */
export const deleteInactive = (tx: Queryable, now: string, limit: number): Promise<StoredStream[]> =>
  tx.many(
    'signals.deleteInactive',
    sql`delete from signal_streams where stream_id in (
          select s.stream_id from signal_streams s join agents a using (agent_id)
          where a.status = 'decommissioned'
             or (s.method = 'poll' and s.last_polled_at + s.inactivity_timeout * interval '1 second' < ${now})
          order by s.stream_id limit ${limit} for update of s skip locked)
        returning ${columns}`,
  );

/** At most once in ten seconds, because each poll says it. */
export async function recordActivity(db: Queryable, streamId: string, now: string): Promise<void> {
  await db.run(
    'signals.recordActivity',
    sql`update signal_streams set last_polled_at = ${now}
        where stream_id = ${streamId} and last_polled_at < ${now}::timestamptz - interval '10 seconds'`,
  );
}

const hashOf = (subject: SubjectId) =>
  sql`sha256(convert_to(${JSON.stringify(subject)}::jsonb::text, 'UTF8'))`;

/** Whether the stream leaves the subject out, and how many it leaves out. */
export const findExclusion = (
  db: Queryable,
  streamId: string,
  subject: SubjectId,
): Promise<{ isExcluded: boolean; count: number }> =>
  db.one(
    'signals.findExclusion',
    sql`select coalesce(bool_or(subject_hash = ${hashOf(subject)}), false) as "isExcluded", count(*) as count
        from signal_exclusions where stream_id = ${streamId}`,
  );

export async function excludeSubject(db: Queryable, streamId: string, subject: SubjectId): Promise<void> {
  await db.run(
    'signals.excludeSubject',
    sql`insert into signal_exclusions (stream_id, subject_hash) values (${streamId}, ${hashOf(subject)})`,
  );
}

export async function includeSubject(db: Queryable, streamId: string, subject: SubjectId): Promise<void> {
  await db.run(
    'signals.includeSubject',
    sql`delete from signal_exclusions where stream_id = ${streamId} and subject_hash = ${hashOf(subject)}`,
  );
}
