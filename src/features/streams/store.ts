import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { prepared, sql } from '../../kernel/data/sql.ts';
import type { Message, StreamName } from '../../kernel/ports/broker.ts';
import type { Envelope } from '../../kernel/ports/envelope.ts';

/** One write for all that share the transaction; positions are given in the order told. */
export function append(tx: Tx, streams: readonly StreamName[], told: readonly Envelope[]): void {
  tx.atCommit(
    'streams.append',
    prepared(sql`
      insert into stream_outbox (stream, event_id, organization_id, type, envelope)
      select stream, event_id::uuid, organization_id::uuid, type, envelope
      from unnest(${told.map(({ id }) => id)}::text[],
                  ${told.map(({ organizationId }) => organizationId)}::text[],
                  ${told.map(({ type }) => type)}::text[],
                  ${told.map((envelope) => JSON.stringify(envelope))}::text[])
           with ordinality as told (event_id, organization_id, type, envelope, number),
           unnest(${streams}::text[]) as stream
      order by number`),
  );
}

export interface Waiting extends Message {
  readonly position: number;
}

/** From the head, every time: what is seen by one statement holds whatever came before any of it. */
export const findWaiting = (tx: Tx, stream: StreamName, atMost: number): Promise<Waiting[]> =>
  tx.many(
    'streams.waiting',
    prepared(sql`
      select position, event_id as "eventId", organization_id as "organizationId", type, envelope
      from stream_outbox where stream = ${stream} order by position limit ${atMost}`),
  );

export function removePublished(tx: Tx, stream: StreamName, published: readonly Waiting[]): void {
  tx.atCommit(
    'streams.published',
    prepared(sql`
      delete from stream_outbox
      where stream = ${stream} and position = any (${published.map(({ position }) => String(position))}::bigint[])`),
  );
}

export async function countWaiting(db: Queryable, stream: StreamName, atMost: number): Promise<number> {
  const { waiting } = await db.one<{ waiting: number }>(
    'streams.count',
    sql`select count(*) as waiting
        from (select position from stream_outbox where stream = ${stream} order by position limit ${atMost}) as head`,
  );
  return waiting;
}
