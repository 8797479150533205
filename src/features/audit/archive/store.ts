/** `audit_archives`, the lease of a round, and the days that wait. */
import type { Queryable } from '../../../kernel/data/db.ts';
import { type Sql, sql } from '../../../kernel/data/sql.ts';
import { offsetOf, type PageRequest } from '../../../kernel/http/page.ts';
import type { ArchiveDay } from './names.ts';

export interface ArchiveRow extends ArchiveDay {
  readonly events: number;
  readonly bytes: number;
  readonly sha256: string;
  readonly chainHead: string;
  readonly object: string;
  readonly createdAt: string;
}

const columns = sql`
  organization_id as "organizationId", day, events, bytes, encode(sha256, 'hex') as sha256,
  encode(chain_head, 'hex') as "chainHead", object, created_at as "createdAt"`;

/** Another node may have been faster, with the same file. */
export const insertArchive = (db: Queryable, row: ArchiveRow): Promise<number> =>
  db.run(
    'audit.archive.insert',
    sql`insert into audit_archives (organization_id, day, events, bytes, sha256, chain_head, object, created_at)
        values (${row.organizationId}, ${row.day}, ${row.events}, ${row.bytes}, decode(${row.sha256}, 'hex'),
                decode(${row.chainHead}, 'hex'), ${row.object}, ${row.createdAt})
        on conflict (organization_id, day) do nothing`,
  );

export const findArchive = (
  db: Queryable,
  { organizationId, day }: ArchiveDay,
): Promise<ArchiveRow | undefined> =>
  db.maybe(
    'audit.archive.find',
    sql`select ${columns} from audit_archives where organization_id = ${organizationId} and day = ${day}`,
  );

export interface DayRange {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Newest first. */
export async function listArchives(
  db: Queryable,
  organizationId: string,
  { from, to, ...page }: PageRequest & DayRange,
): Promise<{ rows: ArchiveRow[]; total: number }> {
  const matches = sql`organization_id = ${organizationId}
    and day >= ${from ?? '-infinity'}::date and day <= ${to ?? 'infinity'}::date`;
  const { total } = await db.one<{ total: number }>(
    'audit.archive.count',
    sql`select count(*) as total from audit_archives where ${matches}`,
  );
  const rows = await db.many<ArchiveRow>(
    'audit.archive.list',
    sql`select ${columns} from audit_archives where ${matches}
        order by day desc limit ${page.limit} offset ${offsetOf(page)}`,
  );
  return { rows, total };
}

/** The sequencer links nothing more under these days. */
export const closeThrough = (db: Queryable, day: string): Promise<number> =>
  db.run(
    'audit.archive.close',
    sql`insert into audit_archive_state (closed_through) values (${day})
        on conflict (only_row) do update set closed_through = excluded.closed_through
        where audit_archive_state.closed_through is null or audit_archive_state.closed_through < excluded.closed_through`,
  );

/** False while another process has a round. */
export const claimRound = async (
  db: Queryable,
  { now, endsAt }: { now: string; endsAt: string },
): Promise<boolean> =>
  (await db.run(
    'audit.archive.claim',
    sql`insert into audit_archive_state (round_ends_at) values (${endsAt})
        on conflict (only_row) do update set round_ends_at = excluded.round_ends_at
        where audit_archive_state.round_ends_at is null or audit_archive_state.round_ends_at <= ${now}`,
  )) > 0;

/** False when the lease has ended, and another process has a round. Without a new end, the round is over. */
export const renewRound = async (
  db: Queryable,
  { endsAt, until }: { endsAt: string; until: string | null },
): Promise<boolean> =>
  (await db.run(
    'audit.archive.renew',
    sql`update audit_archive_state set round_ends_at = ${until} where round_ends_at = ${endsAt}`,
  )) > 0;

/** Events wait for their links on that day; null: those that did are archived. */
export const setLinkedLate = (db: Queryable, day: string | null): Promise<number> =>
  db.run('audit.archive.late', sql`update audit_archive_state set linked_late_on = ${day}::date`);

export async function findLinkedLate(db: Queryable): Promise<string | undefined> {
  const state = await db.maybe<{ day: string | null }>(
    'audit.archive.lateDay',
    sql`select linked_late_on as day from audit_archive_state`,
  );
  return state?.day ?? undefined;
}

/** Days that may have segments, after one and through another, the oldest first. */
export async function findDays(db: Queryable, after: string, through: string): Promise<string[]> {
  const rows = await db.many<{ day: string }>(
    'audit.archive.days',
    sql`select to_date(right(child.relname, 8), 'YYYYMMDD') as day
        from pg_inherits join pg_class child on child.oid = inhrelid
        where inhparent = 'audit_segments'::regclass and child.relname ~ '^audit_segments_[0-9]{8}$'
          and right(child.relname, 8) > to_char(${after}::date, 'YYYYMMDD')
          and right(child.relname, 8) <= to_char(${through}::date, 'YYYYMMDD')
        order by 1`,
  );
  return rows.map(({ day }) => day);
}

/** The next organizations with segments of the day, in their order: one index look-up for each. */
export function findOrganizations(
  db: Queryable,
  day: string,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<{ id: string; archived: boolean }[]> {
  const next = (condition: Sql) => sql`
    select organization_id from audit_segments where taken_on = ${day}::date and ${condition}
    order by organization_id limit 1`;
  return db.many(
    'audit.archive.organizations',
    sql`
      with recursive chain as (
        (select organization_id as id from (${next(after === undefined ? sql`true` : sql`organization_id > ${after}::uuid`)}) first)
        union all
        select (${next(sql`organization_id > chain.id`)}) from chain where chain.id is not null
      ),
      page as materialized (select id from chain where id is not null limit ${limit})
      select id, exists (select from audit_archives a where a.organization_id = page.id and a.day = ${day}::date) as archived
      from page order by id`,
  );
}

/** The last checkpoint of the day. */
export const findLastOfDay = (
  db: Queryable,
  { organizationId, day }: ArchiveDay,
): Promise<{ size: number; head: string } | undefined> =>
  db.maybe(
    'audit.archive.last',
    sql`select size, encode(head, 'hex') as head from audit_segments
        where organization_id = ${organizationId} and taken_on = ${day}::date order by size desc limit 1`,
  );

/** The number of the last tree head of the day. */
export async function findLastTreeHead(db: Queryable, day: string): Promise<number> {
  const { number } = await db.one<{ number: number | null }>(
    'audit.archive.treeHead',
    sql`select max(number) as number from audit_tree_heads where taken_on = ${day}::date`,
  );
  return number ?? 0;
}
