/** Checks of the database, each true or false. Large tables are sampled. */
import type { Queryable } from '../../kernel/data/db.ts';
import { type Sql, sql } from '../../kernel/data/sql.ts';
import { areFew } from '../../kernel/data/writing-scopes.ts';
import { countWritingAgents } from './store.ts';

const check = async (db: Queryable, name: string, query: Sql): Promise<boolean> =>
  (await db.one<{ holds: boolean }>(`compliance.${name}`, query)).holds;

/** 32 bytes each, and no value with the prefix of a secret. */
export const holdsHashesOnly = (db: Queryable): Promise<boolean> =>
  check(
    db,
    'hashesOnly',
    sql`select not exists (
          select from (select secret_hash from credentials limit 10000) c
          where octet_length(secret_hash) <> 32 or substring(secret_hash from 1 for 3) = 'cs_'::bytea
        ) as holds`,
  );

export const endsAccessWithAgents = (db: Queryable): Promise<boolean> =>
  check(
    db,
    'accessEnds',
    sql`select not exists (
          select from (select agent_id from agents where status = 'decommissioned' limit 10000) a
          join credentials c using (agent_id) where c.status = 'active'
        ) as holds`,
  );

export const hasFewWritingAgents = async (db: Queryable): Promise<boolean> =>
  areFew(await countWritingAgents(db, undefined));

/** Each has the people who gave it; the last of them has decided it. */
export const hasPeopleBehindApprovals = (db: Queryable): Promise<boolean> =>
  check(
    db,
    'approvalsByPeople',
    sql`select not exists (
          select from (select decided_by, approvals from approvals where status = 'approved' limit 10000) a
          where decided_by is null or not approvals @> jsonb_build_array(jsonb_build_object('personId', decided_by))
        ) as holds`,
  );

/** For our database role: it lacks the privilege, or an enabled trigger refuses; for each table and each partition. */
export const refusesAuditChanges = (db: Queryable): Promise<boolean> =>
  check(
    db,
    'auditAppendOnly',
    sql`with evidence as (
          select oid from unnest(array['audit_events', 'audit_segments', 'audit_tree_heads', 'audit_keys', 'audit_anchors']::regclass[]) oid
        ), tables as (
          select oid from evidence union all
          select i.inhrelid from pg_inherits i join evidence e on e.oid = i.inhparent
        )
        select bool_and(
          not (has_table_privilege(t.oid, 'update') or has_table_privilege(t.oid, 'delete'))
          or exists (
            select from pg_trigger g
            where g.tgrelid = t.oid and g.tgname = 'append_only' and g.tgenabled in ('O', 'A')
          )
        ) as holds
        from tables t`,
  );

/** No partition before this day exists. */
export const hasDroppedAuditBefore = (db: Queryable, day: string): Promise<boolean> =>
  check(
    db,
    'auditRetention',
    sql`select coalesce(bool_and(to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') >= ${day}::date), true) as holds
        from pg_inherits where inhparent = 'audit_events'::regclass`,
  );

export const commitsToDisk = (db: Queryable): Promise<boolean> =>
  check(
    db,
    'durable',
    sql`select current_setting('synchronous_commit') <> 'off' and current_setting('fsync') = 'on'
               and current_setting('full_page_writes') = 'on' as holds`,
  );
