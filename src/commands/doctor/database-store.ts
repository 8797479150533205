/** What `countersign doctor` reads from the database. It writes nothing. */
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { holdsWritingScope } from '../../kernel/data/writing-scopes.ts';

export interface DatabaseFacts {
  readonly versionNumber: number;
  readonly version: string;
  readonly isReadOnly: boolean;
  readonly encoding: string;
  readonly fsync: string;
  readonly synchronousCommit: string;
  readonly fullPageWrites: string;
  readonly synchronousStandbys: string;
  readonly maxConnections: number;
  readonly role: string;
  /** Null when the search_path names no existing schema. */
  readonly schema: string | null;
  readonly mayCreate: boolean | null;
  readonly time: string;
}

export const readFacts = (db: Queryable): Promise<DatabaseFacts> =>
  db.one(
    'doctor.facts',
    sql`select current_setting('server_version_num')::integer as "versionNumber",
               split_part(current_setting('server_version'), ' ', 1) as version,
               current_setting('transaction_read_only') = 'on' as "isReadOnly",
               current_setting('server_encoding') as encoding, current_setting('fsync') as fsync,
               current_setting('synchronous_commit') as "synchronousCommit",
               current_setting('full_page_writes') as "fullPageWrites",
               current_setting('synchronous_standby_names') as "synchronousStandbys",
               current_setting('max_connections')::integer
                 - current_setting('superuser_reserved_connections')::integer as "maxConnections",
               current_user::text as role, current_schema()::text as schema,
               has_schema_privilege(current_schema(), 'create') as "mayCreate", clock_timestamp() as time`,
  );

/** Tables of our schema that the role neither owns nor owns through another role: migrations could not change them. */
export const findForeignTables = (db: Queryable): Promise<{ name: string; owner: string }[]> =>
  db.many(
    'doctor.foreignTables',
    sql`select c.relname::text as name, pg_get_userbyid(c.relowner)::text as owner
        from pg_class c
        where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
          and not pg_has_role(current_user, c.relowner, 'usage')
        order by c.relname limit 200`,
  );

export async function tableExists(db: Queryable, name: string): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(
    'doctor.table',
    sql`select to_regclass(${name}) is not null as found`,
  );
  return found;
}

export const readHistory = (db: Queryable): Promise<{ version: number; name: string; checksum: string }[]> =>
  db.many('doctor.migrations', sql`select version, name, checksum from schema_migrations order by version`);

/** The key that took over the audit log last. */
export const findAuditKey = (db: Queryable): Promise<{ keyId: string } | undefined> =>
  db.maybe('doctor.auditKey', sql`select key_id as "keyId" from audit_keys order by number desc limit 1`);

/** `name`: `table.column` */
export async function columnExists(db: Queryable, name: string): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(
    'doctor.column',
    sql`select exists (select from pg_attribute
                       where attrelid = to_regclass(split_part(${name}, '.', 1))
                         and attname = split_part(${name}, '.', 2) and not attisdropped) as found`,
  );
  return found;
}

export interface WritingAgents {
  readonly agents: number;
  readonly holders: number;
  /** The newest. */
  readonly emails: readonly string[];
}

export const readWritingAgents = (db: Queryable, maxNames: number): Promise<WritingAgents> =>
  db.one(
    'doctor.writingAgents',
    sql`select (select count(*) from agents where status <> 'decommissioned') as agents,
               (select count(*) from agents where ${holdsWritingScope}) as holders,
               array(select email from agents where ${holdsWritingScope}
                     order by created_at desc, agent_id desc limit ${maxNames}) as emails`,
  );

export const readSize = (db: Queryable): Promise<{ bytes: number }> =>
  db.one('doctor.size', sql`select pg_database_size(current_database())::float8 as bytes`);
