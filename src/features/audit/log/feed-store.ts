import type { Queryable } from '../../../kernel/data/db.ts';
import { listOf, prepared, sql } from '../../../kernel/data/sql.ts';
import type { FeedPosition } from './feed.ts';
import { eventColumns } from './store.ts';

const beforeAllDays = '0001-01-01';

/** The last link of each chain; organizations without links are left out. */
export const findEnds = (
  db: Queryable,
  organizationIds: readonly string[],
): Promise<(FeedPosition & { organizationId: string })[]> =>
  db.many(
    'audit.feed.ends',
    prepared(sql`
      select wanted.id as "organizationId", s.size as sequence, s.taken_on as day
      from unnest(${organizationIds}::uuid[]) as wanted (id)
      cross join lateral (
        select size, taken_on from audit_segments where organization_id = wanted.id order by size desc limit 1
      ) s`),
  );

/** A link with the columns of its event, all null when retention dropped the event. */
export type FeedRow = FeedPosition & { organizationId: string; eventId: string | null; timestamp: string };

/**
 * The links after each position, at most `limit` of each chain. The days of segments never decrease along a chain, so the day
 * of a position leaves out the partitions before it. Segments are read until they have enough links. `limit 1` makes
 * PostgreSQL look up each event by its key. A time that is out of range belongs to no event.
 */
export const readAfter = (
  db: Queryable,
  positions: readonly (FeedPosition & { organizationId: string })[],
  limit: number,
): Promise<FeedRow[]> =>
  db.many(
    'audit.feed.read',
    prepared(sql`
      select wanted.id as "organizationId", l.sequence, l.taken_on as day, e.*
      from unnest(${listOf(positions.map(({ organizationId }) => organizationId))}::uuid[],
                  ${listOf(positions.map(({ sequence }) => String(sequence)))}::bigint[],
                  ${listOf(positions.map(({ day }) => day ?? beforeAllDays))}::date[]) as wanted (id, sequence, day)
      cross join lateral (
        select s.size - s.links + place as sequence, s.taken_on, encode(substr(s.records, 56 * place - 55, 16), 'hex')::uuid as event_id,
               ('x' || encode(substr(s.records, 56 * place - 39, 8), 'hex'))::bit(64)::bigint as microseconds
        from (
          select size, taken_on, links, records || ''::bytea as records
          from (select *, lag(size, 1, wanted.sequence) over (order by size) as size_before
                from (select size, taken_on, records, octet_length(records) / 56 as links from audit_segments
                      where organization_id = wanted.id and size > wanted.sequence and taken_on >= wanted.day
                      order by size limit ${limit}) page) counted
          where size_before < wanted.sequence + ${limit} offset 0
        ) s
        cross join lateral generate_series(greatest(1, wanted.sequence - s.size + s.links + 1)::integer, s.links) as place
        order by sequence limit ${limit}
      ) l
      left join lateral (
        select ${eventColumns} from audit_events
        where occurred_at = case when l.microseconds between 0 and 250000000000000000
                                 then timestamptz '2000-01-01Z' + l.microseconds * interval '1 microsecond' end
          and event_id = l.event_id and organization_id = wanted.id
        limit 1
      ) e on true
      order by wanted.id, l.sequence`),
  );
