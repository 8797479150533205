/**
 * The unique index over the e-mail addresses of all organizations, which earlier versions need: they name it in their inserts. With many
 * tenants it would tell one of them which addresses another one uses, so a multi-tenant instance drops it: at once in a new database,
 * and otherwise an hour after the upgrade, when no node of an earlier version runs any more. A single-tenant instance keeps it.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import { lockGlobal } from '../../kernel/data/locks.ts';
import { sql } from '../../kernel/data/sql.ts';

const migration = 39;
const rollingUpgradeMs = 3_600_000;

/** Does nothing when the index is gone or still needed, or when the role may not drop it. */
export async function dropGlobalEmailIndex(db: Db, clock: Clock): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { due } = await tx.one<{ due: boolean }>(
      'agents.emailIndexDue',
      sql`select exists (
            select from pg_class where oid = to_regclass('agents_email') and pg_has_role(current_user, relowner, 'usage')
          ) and (
            own.applied_at <= ${new Date(clock.now() - rollingUpgradeMs)}
            or own.applied_at - first.applied_at < interval '1 minute' and not exists (select from agents)
          ) as due
          from schema_migrations own, schema_migrations first
          where own.version = ${migration} and first.version = 1`,
    );
    if (!due) return false;
    await lockGlobal(tx, 'migrations');
    // A long transaction on the table must not make all others wait behind this one; the next round tries again.
    await tx.run('agents.emailIndexTimeout', sql`set local lock_timeout = '3s'`);
    await tx.run('agents.dropEmailIndex', sql`drop index if exists agents_email`);
    return true;
  });
}

export const createEmailIndexLoop = (deps: { db: Db; clock: Clock }): Loop => ({
  name: 'agent-email-index',
  everyMs: 600_000,
  async run() {
    await dropGlobalEmailIndex(deps.db, deps.clock);
  },
});
