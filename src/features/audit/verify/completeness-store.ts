/** Completeness: every event that the sequencer has processed must have a link, and every chain must be found. */
import type { Tx } from '../../../kernel/data/db.ts';
import { join, prepared, raw, type Sql, sql } from '../../../kernel/data/sql.ts';
import { isNotLinked, withLinks } from '../chain/links-store.ts';
import type { Period } from '../period.ts';

/** Which events must have a link. */
export interface LinkingCutoff {
  /** A snapshot: the sequencer has processed every event that is visible in it. */
  readonly processed: string;
  /** The first transaction that had not begun: no genuine event has its id or a later one. */
  readonly nextTransaction: string;
}

/** In the snapshot of `tx`. */
export async function readLinkingCutoff(tx: Tx, processed: string): Promise<LinkingCutoff> {
  const { next } = await tx.one<{ next: string }>(
    'audit.snapshot.end',
    sql`select pg_snapshot_xmax(pg_current_snapshot())::text as next`,
  );
  return { processed, nextTransaction: next };
}

const mustBeLinked = ({ processed, nextTransaction }: LinkingCutoff): Sql =>
  sql`(pg_visible_in_snapshot(appended_in, ${processed}::pg_snapshot) or appended_in >= ${nextTransaction}::xid8)`;

/** The same for events in memory. Transaction ids have 64 bits, but no server has come near 2⁵³. */
export function mustBeLinkedTest({
  processed,
  nextTransaction,
}: LinkingCutoff): (appendedIn: string) => boolean {
  const [oldestOpen, firstUnseen, open = ''] = processed.split(':');
  const [low, middle, high] = [Number(oldestOpen), Number(firstUnseen), Number(nextTransaction)];
  const openThen = new Set(open.split(',').map(Number));
  return (appendedIn) => {
    const id = Number(appendedIn);
    return id < low || id >= high || (id < middle && !openThen.has(id));
  };
}

/** How many events of the organization must have a link. */
export async function countDue(tx: Tx, organizationId: string, cutoff: LinkingCutoff): Promise<number> {
  const { events } = await tx.one<{ events: number }>(
    'audit.settled.count',
    prepared(
      sql`select count(*) as events from audit_events where organization_id = ${organizationId}
            and ${mustBeLinked(cutoff)}`,
    ),
  );
  return events;
}

export async function countDueWithin(
  tx: Tx,
  organizationId: string,
  cutoff: LinkingCutoff,
  period: Period,
): Promise<number> {
  const { events } = await tx.one<{ events: number }>(
    'audit.settled.within',
    sql`select count(*) as events from audit_events where organization_id = ${organizationId}
          and occurred_at between ${isoOf(period.from)} and ${isoOf(period.to)}
          and ${mustBeLinked(cutoff)}`,
  );
  return events;
}

/** An event that must have a link and has none; in the period, if given. */
export const findDueUnlinked = (
  tx: Tx,
  organizationId: string,
  cutoff: LinkingCutoff,
  { from, to }: Partial<Period> = {},
): Promise<{ eventId: string } | undefined> =>
  tx.maybe(
    'audit.stray',
    prepared(sql`
      with ${withLinks(sql`
        select organization_id, event_id, occurred_at, appended_in from audit_events
        where organization_id = ${organizationId}
          and occurred_at >= ${from === undefined ? '-infinity' : isoOf(from)}::timestamptz
          and occurred_at <= ${to === undefined ? 'infinity' : isoOf(to)}::timestamptz
          and ${mustBeLinked(cutoff)}`)}
      select e.event_id as "eventId" from candidates e where ${isNotLinked} limit 1`),
  );

/** Sizes start at 1. A scan from the first segment would skip rows below. */
export async function hasRowsBeforeFirst(tx: Tx, organizationId: string): Promise<boolean> {
  const { found } = await tx.one<{ found: boolean }>(
    'audit.uncounted',
    prepared(
      sql`select exists (select from audit_segments where organization_id = ${organizationId} and size < 1) as found`,
    ),
  );
  return found;
}

/** Links that were inconsistent when an upgrade moved them into segments, after the days that retention dropped. */
export async function hasInconsistentLinks(
  tx: Tx,
  organizationId: string,
  droppedThrough: string | undefined,
): Promise<boolean> {
  const { found } = await tx.one<{ found: boolean }>(
    'audit.inconsistent',
    sql`select exists (
          select from audit_inconsistent_links
          where organization_id = ${organizationId} and linked_on > ${droppedThrough ?? '-infinity'}::date
        ) as found`,
  );
  return found;
}

/** The next organization by id. It looks at each table: an organization whose evidence was deleted still has events. */
export async function findOrganizationAfter(
  tx: Tx,
  organizationId: string | undefined,
): Promise<string | undefined> {
  const isNext = organizationId === undefined ? sql`true` : sql`organization_id > ${organizationId}`;
  const first = ['audit_events', 'audit_segments', 'audit_inconsistent_links'].map(
    (table) =>
      sql`(select organization_id as id from ${raw(table)} where ${isNext} order by organization_id limit 1)`,
  );
  const next = await tx.maybe<{ id: string }>(
    'audit.organizations.after',
    sql`select id from (${join(first, ' union all ')}) as first order by id limit 1`,
  );
  return next?.id;
}

export async function findOrganizations(tx: Tx): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const next = await findOrganizationAfter(tx, found.at(-1));
    if (next === undefined) return found;
    found.push(next);
  }
}

const isoOf = (milliseconds: number): string => new Date(milliseconds).toISOString();
