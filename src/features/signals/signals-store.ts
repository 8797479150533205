/** `signals` and `signal_deliveries`: the signals of each organization, and the queues of its streams. */
import type { Queryable } from '../../kernel/data/db.ts';
import { type Sql, sql } from '../../kernel/data/sql.ts';
import type { SubjectId } from './event-types.ts';

/** Processes with open polls, and the workers that push, listen here. */
export const channel = 'signals';

export interface NewSignal {
  readonly signalId: string;
  readonly organizationId: string;
  readonly eventType: string;
  readonly subject: SubjectId;
  readonly details: Readonly<Record<string, unknown>>;
  readonly occurredAt: string;
}

export interface StoredSignal extends Pick<NewSignal, 'signalId' | 'eventType' | 'subject' | 'details'> {
  readonly occurredAt: string;
}

const hashOf = (subject: Sql) => sql`sha256(convert_to((${subject})::text, 'UTF8'))`;

/** The stream `s` wants the signal `n`. */
const wants = sql`
  (s.events_requested is null or n.event_type = any (s.events_requested))
  and not exists (select from signal_exclusions x where x.stream_id = s.stream_id and x.subject_hash = ${hashOf(sql`n.subject`)})`;

/** Their number is that of the organizations which learn of the end, and not that of their streams. */
export async function insertSignals(tx: Queryable, signals: readonly NewSignal[]): Promise<void> {
  await tx.run(
    'signals.insert',
    sql`insert into signals (signal_id, organization_id, event_type, subject, details, occurred_at)
        select "signalId", "organizationId", "eventType", subject, details, "occurredAt"
        from jsonb_to_recordset(${JSON.stringify(signals)}::jsonb) as new (
          "signalId" uuid, "organizationId" uuid, "eventType" text, subject jsonb, details jsonb, "occurredAt" timestamptz)`,
  );
}

/**
 * Puts signals into the queues of the streams that want them: the oldest `perOrganization` of each of `organizations` organizations, so that
 * one with many does not delay the others. Signals that another process distributes are left out. Returns how many it found.
 */
export async function distributeSignals(
  tx: Queryable,
  {
    organizationId = null,
    organizations,
    perOrganization,
    now,
  }: {
    /** Of this one alone. */
    readonly organizationId?: string | null;
    readonly organizations: number;
    readonly perOrganization: number;
    readonly now: string;
  },
): Promise<number> {
  const { signals } = await tx.one<{ signals: number }>(
    'signals.distribute',
    sql`with recursive waiting as (
          (select organization_id, 1 as place from signals
           where not distributed and (${organizationId}::uuid is null or organization_id = ${organizationId})
           order by organization_id limit 1)
          union all
          select (select n.organization_id from signals n where not n.distributed and n.organization_id > waiting.organization_id
                  order by n.organization_id limit 1), waiting.place + 1
          from waiting
          where waiting.organization_id is not null and waiting.place < ${organizations} and ${organizationId}::uuid is null
        ), batch as materialized (
          select oldest.* from waiting cross join lateral (
            select signal_id from signals n where not n.distributed and n.organization_id = waiting.organization_id
            order by n.signal_id limit ${perOrganization} for update skip locked) as oldest
        ), n as (
          update signals set distributed = true from batch where signals.signal_id = batch.signal_id
          returning signals.signal_id, signals.organization_id, signals.event_type, signals.subject
        ), queued as (
          insert into signal_deliveries (stream_id, signal_id, queued_at, due_at)
          select s.stream_id, n.signal_id, ${now}::timestamptz, ${now}::timestamptz
          from n join signal_streams s on s.organization_id = n.organization_id
          where s.status <> 'disabled' and ${wants}
          on conflict do nothing
          returning 1
        )
        select (select count(*) from n) as signals,
               case when exists (select from queued) then pg_notify(${channel}::text, '') end as notified`,
  );
  return signals;
}

/** Puts all signals since then that the new stream wants into its queue. The stream is committed: later signals come on their own. */
export async function fillQueue(tx: Queryable, streamId: string, since: string, now: string): Promise<void> {
  await tx.run(
    'signals.fillQueue',
    sql`insert into signal_deliveries (stream_id, signal_id, queued_at, due_at)
        select s.stream_id, n.signal_id, ${now}::timestamptz, ${now}::timestamptz
        from signal_streams s join signals n on n.organization_id = s.organization_id
        where s.stream_id = ${streamId} and n.occurred_at > ${since} and n.stream_id is null and ${wants}
        on conflict do nothing`,
  );
}

/** For one stream, which gets it in any status but `disabled`. */
export async function insertVerification(
  tx: Queryable,
  streamId: string,
  signal: NewSignal,
  now: string,
): Promise<void> {
  await tx.run(
    'signals.insertVerification',
    sql`with n as (
          insert into signals (signal_id, organization_id, stream_id, event_type, subject, details, occurred_at, distributed)
          values (${signal.signalId}, ${signal.organizationId}, ${streamId}, ${signal.eventType},
                  ${JSON.stringify(signal.subject)}::jsonb, ${JSON.stringify(signal.details)}::jsonb, ${signal.occurredAt}, true)
          returning signal_id
        )
        insert into signal_deliveries (stream_id, signal_id, queued_at, due_at)
        select ${streamId}::uuid, signal_id, ${now}::timestamptz, ${now}::timestamptz from n`,
  );
  await tx.run('signals.notify', sql`select pg_notify(${channel}::text, '')`);
}

const columns = sql`
  n.signal_id as "signalId", n.event_type as "eventType", n.subject, n.details, n.occurred_at as "occurredAt"`;

const queue = (streamId: string, which: Sql, limit: number) => sql`
  select ${columns}, d.attempts
  from signal_deliveries d join signals n using (signal_id)
  where d.stream_id = ${streamId} and ${which}
  order by d.signal_id limit ${limit}`;

/** Whether signals of the organization are in no queue yet. */
export async function hasUndistributed(db: Queryable, organizationId: string): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(
    'signals.hasUndistributed',
    sql`select exists (select from signals where not distributed and organization_id = ${organizationId}) as found`,
  );
  return found;
}

/** The oldest signals in the queue. None while the stream is not enabled. */
export const readQueue = (db: Queryable, streamId: string, limit: number): Promise<StoredSignal[]> =>
  db.many(
    'signals.readQueue',
    queue(
      streamId,
      sql`exists (select from signal_streams s where s.stream_id = d.stream_id and s.status = 'enabled')`,
      limit,
    ),
  );

/** For a push stream: those whose time has come. */
export const readDue = (
  db: Queryable,
  streamId: string,
  now: string,
  limit: number,
): Promise<(StoredSignal & { readonly attempts: number })[]> =>
  db.many('signals.readDue', queue(streamId, sql`d.due_at <= ${now}`, limit));

/** Of these streams, the enabled ones with signals in their queue, and those that were deleted. */
export async function findStreamsToWake(
  db: Queryable,
  streamIds: readonly string[],
): Promise<readonly string[]> {
  const rows = await db.many<{ streamId: string }>(
    'signals.findStreamsToWake',
    sql`select stream_id as "streamId"
        from unnest(${streamIds}::uuid[]) as waiting (stream_id) left join signal_streams s using (stream_id)
        where s.status is null
          or s.status = 'enabled' and exists (select from signal_deliveries d where d.stream_id = s.stream_id)`,
  );
  return rows.map(({ streamId }) => streamId);
}

/** Returns how many were in the queue. */
export const removeFromQueue = (
  db: Queryable,
  streamId: string,
  signalIds: readonly string[],
): Promise<number> =>
  db.run(
    'signals.removeFromQueue',
    sql`delete from signal_deliveries where stream_id = ${streamId} and signal_id = any(${signalIds}::uuid[])`,
  );

export async function emptyQueue(db: Queryable, streamId: string): Promise<void> {
  await db.run('signals.emptyQueue', sql`delete from signal_deliveries where stream_id = ${streamId}`);
}

export async function postponeSignal(
  db: Queryable,
  streamId: string,
  signalId: string,
  dueAt: string,
): Promise<void> {
  await db.run(
    'signals.postpone',
    sql`update signal_deliveries set attempts = attempts + 1, due_at = ${dueAt}
        where stream_id = ${streamId} and signal_id = ${signalId}`,
  );
}

/** Entries that have waited too long. */
export const deleteOldDeliveries = (db: Queryable, before: string, limit: number): Promise<number> =>
  db.run(
    'signals.deleteOldDeliveries',
    sql`delete from signal_deliveries where (stream_id, signal_id) in (
          select stream_id, signal_id from signal_deliveries where queued_at < ${before} order by queued_at limit ${limit})`,
  );

/**
 * Entries of streams that are gone. A signal may be queued while its stream is deleted. Goes from queue to queue through the index, so
 * its time depends on the number of queues and not on that of their entries.
 */
export const deleteOrphanDeliveries = (db: Queryable, limit: number): Promise<number> =>
  db.run(
    'signals.deleteOrphanDeliveries',
    sql`with recursive queue as (
          (select stream_id from signal_deliveries order by stream_id limit 1)
          union all
          select (select d.stream_id from signal_deliveries d where d.stream_id > queue.stream_id order by d.stream_id limit 1)
          from queue where queue.stream_id is not null
        )
        delete from signal_deliveries where (stream_id, signal_id) in (
          select d.stream_id, d.signal_id from queue join signal_deliveries d using (stream_id)
          where not exists (select from signal_streams s where s.stream_id = queue.stream_id)
          limit ${limit})`,
  );

/** Those that wait in no queue. */
export const deleteOldSignals = (db: Queryable, before: string, limit: number): Promise<number> =>
  db.run(
    'signals.deleteOld',
    sql`delete from signals where signal_id in (
          select n.signal_id from signals n
          where n.occurred_at < ${before} and n.distributed
            and not exists (select from signal_deliveries d where d.signal_id = n.signal_id)
          order by n.occurred_at limit ${limit})`,
  );

/** For how many seconds the oldest signal has waited; see the metric. The first entry of a queue is its oldest: the ids sort by time. */
export async function findOldestWaiting(db: Queryable, now: string, polledSince: string): Promise<number> {
  const { seconds } = await db.one<{ seconds: number }>(
    'signals.oldestWaiting',
    sql`with waiting as (
          select d.queued_at as since
          from signal_streams s
            join organizations o on o.organization_id = s.organization_id join agents a on a.agent_id = s.agent_id
            cross join lateral (select queued_at from signal_deliveries
                                where stream_id = s.stream_id order by signal_id limit 1) as d
          where s.status = 'enabled' and o.status = 'active' and a.status = 'active'
            and case s.method when 'push' then s.push_failures = 0 else s.last_polled_at > ${polledSince} end
          union all
          select min(occurred_at) from signals where not distributed
        )
        select coalesce(greatest(0, extract(epoch from ${now}::timestamptz - min(since))), 0)::float8 as seconds from waiting`,
  );
  return seconds;
}
