/**
 * Push streams as jobs: a worker leases a stream and sends its signals one after the other. The lease is fenced: a worker whose lease has
 * expired cannot end its successor's.
 */
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';

export interface PushJob {
  readonly streamId: string;
  readonly organizationId: string;
  readonly agentId: string;
  readonly endpointUrl: string;
  /** Sealed for the stream's id. */
  readonly authorizationHeader: string | null;
  readonly failures: number;
  readonly lease: string;
}

/** Organizations take turns: the stream of each that waits longest, then the second of each. */
export const leaseStreams = (
  db: Queryable,
  request: {
    readonly now: string;
    readonly leaseExpiresAt: string;
    readonly lease: string;
    readonly capacity: number;
    readonly perOrganization: number;
    /** For how many streams of each organization this process sends already. */
    readonly inFlight: ReadonlyMap<string, number>;
  },
): Promise<PushJob[]> =>
  db.many(
    'signals.leaseStreams',
    sql`with due as (
          select s.stream_id, s.push_due_at,
                 coalesce(sending.streams, 0)
                   + row_number() over (partition by s.organization_id order by s.push_due_at, s.stream_id) as rank
          from signal_streams s join organizations o using (organization_id) join agents a using (agent_id)
            left join unnest(${[...request.inFlight.keys()]}::uuid[], ${[...request.inFlight.values()]}::int[])
              as sending (organization_id, streams) on sending.organization_id = s.organization_id
          where s.method = 'push' and s.status = 'enabled' and s.push_due_at <= ${request.now}
            and o.status = 'active' and a.status = 'active'
            and exists (select from signal_deliveries d where d.stream_id = s.stream_id and d.due_at <= ${request.now})
        ), chosen as (
          select s.stream_id from due join signal_streams s using (stream_id)
          -- Again: another process may have leased it since.
          where s.push_due_at <= ${request.now} and due.rank <= ${request.perOrganization}
          order by due.rank, due.push_due_at limit ${request.capacity}
          for update of s skip locked
        )
        update signal_streams s set push_due_at = ${request.leaseExpiresAt}, push_lease = ${request.lease}
        from chosen where s.stream_id = chosen.stream_id
        returning s.stream_id as "streamId", s.organization_id as "organizationId", s.agent_id as "agentId",
                  s.endpoint_url as "endpointUrl", s.authorization_header as "authorizationHeader",
                  s.push_failures as failures, s.push_lease as lease`,
  );

export async function releaseStream(
  db: Queryable,
  { streamId, lease }: PushJob,
  failures: number,
  dueAt: string,
): Promise<void> {
  await db.run(
    'signals.releaseStream',
    sql`update signal_streams set push_due_at = ${dueAt}, push_failures = ${failures}, push_lease = null
        where stream_id = ${streamId} and push_lease = ${lease}`,
  );
}

/** Not after the lease has expired, or the stream has been changed or deleted. */
export async function holdsLease(db: Queryable, { streamId, lease }: PushJob): Promise<boolean> {
  const { isHeld } = await db.one<{ isHeld: boolean }>(
    'signals.holdsLease',
    sql`select exists (select from signal_streams where stream_id = ${streamId} and push_lease = ${lease}) as "isHeld"`,
  );
  return isHeld;
}
