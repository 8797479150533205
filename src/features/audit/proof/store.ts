/** The rows that a client needs to verify a chain alone. */
import type { Queryable } from '../../../kernel/data/db.ts';
import { listOf, prepared, sql } from '../../../kernel/data/sql.ts';
import { canonicalOf, differingColumns } from '../chain/canonical-store.ts';
import type { EventText, Link } from '../chain/hashes.ts';

/** The text of an event, and that of its columns if a row of an earlier version stores another. */
interface ProvenEvent extends EventText {
  readonly columns: string | null;
}

/** The event of each link, in the order of the links; undefined when there is none. `limit 1` makes it one look-up per link. */
export async function readEventTexts(
  db: Queryable,
  organizationId: string,
  links: readonly Pick<Link, 'eventId' | 'time'>[],
): Promise<(ProvenEvent | undefined)[]> {
  const rows = await db.many<ProvenEvent & { canonical: string | null }>(
    'audit.proof.events',
    prepared(sql`
      select e.*
      from unnest(${listOf(links.map(({ eventId }) => eventId))}::uuid[],
                  ${listOf(links.map(({ time }) => time || '-infinity'))}::timestamptz[])
           with ordinality as l (event_id, occurred_at, place)
      left join lateral (
        select ${canonicalOf('e')} as canonical, e.appended_in::text as "appendedIn",
               coalesce(encode(e.seal, 'hex'), '') as seal, ${differingColumns('e')} as columns
        from audit_events e
        where e.occurred_at = l.occurred_at and e.event_id = l.event_id and e.organization_id = ${organizationId}
        limit 1
      ) e on true
      order by l.place`),
  );
  return rows.map((row) => (row.canonical === null ? undefined : row));
}
