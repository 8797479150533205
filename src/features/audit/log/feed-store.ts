import type { Queryable } from '../../../kernel/data/db.ts';
import { listOf, prepared, sql } from '../../../kernel/data/sql.ts';
import type { FeedPosition } from '../deps.ts';
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
      select wanted.id as "organizationId", l.sequence, l.linked_on as day
      from unnest(${organizationIds}::uuid[]) as wanted (id)
      cross join lateral (
        select sequence, linked_on from audit_links where organization_id = wanted.id order by sequence desc limit 1
      ) l`),
  );

/** A link with the columns of its event, all null when retention dropped the event. */
export type FeedRow = FeedPosition & { organizationId: string; eventId: string | null; timestamp: string };

/**
 * The links after each position, at most `limit` of each chain. The days of links never decrease along a chain, so the day of
 * a position leaves out the partitions before it. `limit 1` makes PostgreSQL look up each event by its key.
 */
export const readAfter = (
  db: Queryable,
  positions: readonly (FeedPosition & { organizationId: string })[],
  limit: number,
): Promise<FeedRow[]> =>
  db.many(
    'audit.feed.read',
    prepared(sql`
      select wanted.id as "organizationId", l.sequence, l.linked_on as day, e.*
      from unnest(${listOf(positions.map(({ organizationId }) => organizationId))}::uuid[],
                  ${listOf(positions.map(({ sequence }) => String(sequence)))}::bigint[],
                  ${listOf(positions.map(({ day }) => day ?? beforeAllDays))}::date[]) as wanted (id, sequence, day)
      cross join lateral (
        select sequence, linked_on, event_id, occurred_at from audit_links
        where organization_id = wanted.id and sequence > wanted.sequence and linked_on >= wanted.day
        order by sequence limit ${limit}
      ) l
      left join lateral (
        select ${eventColumns} from audit_events
        where occurred_at = l.occurred_at and event_id = l.event_id and organization_id = wanted.id
        limit 1
      ) e on true
      order by wanted.id, l.sequence`),
  );
