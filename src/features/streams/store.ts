import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { prepared, sql } from '../../kernel/data/sql.ts';
import type { Envelope } from '../../kernel/delivery/envelope.ts';
import type { Message, StreamName } from '../../kernel/ports/broker.ts';

/** One statement for all events of the transaction; positions follow the order of the envelopes. */
export function append(tx: Tx, streams: readonly StreamName[], envelopes: readonly Envelope[]): void {
  tx.atCommit(
    'streams.append',
    prepared(sql`
      insert into stream_outbox (stream, event_id, organization_id, type, envelope)
      select stream, event_id::uuid, organization_id::uuid, type, envelope
      from unnest(${envelopes.map(({ id }) => id)}::text[],
                  ${envelopes.map(({ organizationId }) => organizationId)}::text[],
                  ${envelopes.map(({ type }) => type)}::text[],
                  ${envelopes.map((envelope) => JSON.stringify(envelope))}::text[])
           with ordinality as appended (event_id, organization_id, type, envelope, number),
           unnest(${streams}::text[]) as stream
      order by number`),
  );
}

export interface OutboxRow extends Message {
  readonly position: number;
}

/** Always from the head, without a cursor: a transaction that commits late is not skipped. */
export const findHead = (tx: Tx, stream: StreamName, limit: number): Promise<OutboxRow[]> =>
  tx.many(
    'streams.head',
    prepared(sql`
      select position, event_id as "eventId", organization_id as "organizationId", type, envelope
      from stream_outbox where stream = ${stream} order by position limit ${limit}`),
  );

export function removePublished(tx: Tx, stream: StreamName, published: readonly OutboxRow[]): void {
  tx.atCommit(
    'streams.published',
    prepared(sql`
      delete from stream_outbox
      where stream = ${stream} and position = any (${published.map(({ position }) => String(position))}::bigint[])`),
  );
}

/** Counts at most `limit` rows; the oldest is the head. */
export const measurePending = (
  db: Queryable,
  stream: StreamName,
  limit: number,
): Promise<{ pending: number; oldestId: string | null }> =>
  db.one(
    'streams.count',
    sql`select count(*) as pending,
               (select event_id from stream_outbox where stream = ${stream} order by position limit 1) as "oldestId"
        from (select position from stream_outbox where stream = ${stream} order by position limit ${limit}) as head`,
  );
