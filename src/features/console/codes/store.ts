/** Writes `console_codes`. A code is deleted with the session that made it. */
import type { Queryable } from '../../../kernel/data/db.ts';
import { sql } from '../../../kernel/data/sql.ts';

interface StoredCode {
  /** The session that made it, and the agent of the session; null for a member. */
  readonly sessionId: string;
  readonly agentId: string | null;
  readonly personId: string | null;
}

/** Replaces the code that the session made before. */
export async function putCode(
  tx: Queryable,
  sessionId: string,
  codeHash: Buffer,
  expiresAt: Date,
): Promise<void> {
  await tx.run(
    'console.putCode',
    sql`insert into console_codes (session_id, code_hash, expires_at) values (${sessionId}, ${codeHash}, ${expiresAt})
        on conflict (session_id) do update set code_hash = excluded.code_hash, expires_at = excluded.expires_at`,
  );
}

export const findCode = (db: Queryable, codeHash: Buffer, now: Date): Promise<StoredCode | undefined> =>
  db.maybe(
    'console.findCode',
    sql`select s.session_id as "sessionId", s.agent_id as "agentId", s.person_id as "personId"
        from console_codes c join console_sessions s using (session_id)
        where c.code_hash = ${codeHash} and c.expires_at > ${now}`,
  );

/** False for all but the first. */
export const takeCode = async (tx: Queryable, codeHash: Buffer, now: Date): Promise<boolean> =>
  (await tx.run(
    'console.takeCode',
    sql`delete from console_codes where code_hash = ${codeHash} and expires_at > ${now}`,
  )) > 0;

export const deleteExpiredCodes = (db: Queryable, now: Date, limit: number): Promise<number> =>
  db.run(
    'console.deleteExpiredCodes',
    sql`delete from console_codes where session_id = any (array(
          select session_id from console_codes where expires_at <= ${now} limit ${limit} for update skip locked))`,
  );
