/** Contradictions of the database variables that only the servers show. Checked before the first change. */
import { ConfigProblems } from '../../kernel/config/config.ts';
import type { Db, Queryable } from '../../kernel/data/db.ts';
import { prepared, sql } from '../../kernel/data/sql.ts';

interface DatabaseIdentity {
  readonly name: string;
  readonly oid: number;
  /** Undefined where the role may not read it, as at some hosted ones. */
  readonly system: string | undefined;
}

async function readIdentity(db: Queryable): Promise<DatabaseIdentity> {
  const database = await db.one<{ name: string; oid: number }>(
    'database.identity',
    sql`select datname::text as name, oid::bigint as oid from pg_database where datname = current_database()`,
  );
  const control = await db
    .one<{ system: string }>(
      'database.system',
      sql`select system_identifier::text as system from pg_control_system()`,
    )
    .catch((error) => {
      if (unreadable.includes(error.code)) return undefined;
      throw error;
    });
  return { ...database, system: control?.system };
}

/** SQLSTATEs: insufficient privilege, no such function. */
const unreadable = ['42501', '42883'];

/** Two databases differ, also if one was restored from the other. */
export async function isSameDatabase(one: Queryable, other: Queryable): Promise<boolean> {
  const [a, b] = await Promise.all([readIdentity(one), readIdentity(other)]);
  const isSameSystem = a.system === undefined || b.system === undefined || a.system === b.system;
  return isSameSystem && a.name === b.name && a.oid === b.oid;
}

/** Otherwise another database would be migrated, and the one in use not. */
export async function requireSameDatabase(db: Queryable, direct: Queryable): Promise<void> {
  if (await isSameDatabase(db, direct)) return;
  throw new ConfigProblems([
    'DATABASE_DIRECT_URL leads to another database than DATABASE_URL: use the address of the server behind the pooler, and the same database; nothing was migrated',
  ]);
}

const rounds = 3;

/**
 * A pooler in transaction mode may give a client the session in which another one prepared its statements, or one without them:
 * SQLSTATE 42P05 or 26000. `one` and `other` are connections of their own.
 */
export async function tryPreparedStatements(one: Db, other: Db): Promise<void> {
  for (let round = 0; round < rounds; round += 1)
    for (const db of [one, other]) await db.one('database.prepared', prepared(sql`select 1 as answer`));
}
