/**
 * Clock-skew guard: before anything is purged because it has expired, this machine's clock is compared with the database's. A clock
 * that is months ahead would otherwise purge the whole audit log.
 */
import { type Clock, isoTime } from '../clock.ts';
import type { Log } from '../observability/log.ts';
import type { Db } from './db.ts';
import { sql } from './sql.ts';

/** More than the skew between machines that synchronize their clocks. */
const maxSkewMs = 300_000;

/** Returns `mayPurge`: false while this machine's clock is ahead of the database's. */
export function createClockSkewGuard(deps: { db: Db; clock: Clock; log: Log }): () => Promise<boolean> {
  const { db, clock, log } = deps;
  return async () => {
    const { time } = await db.one<{ time: string }>('time', sql`select clock_timestamp() as time`);
    const mayPurge = clock.now() - Date.parse(time) <= maxSkewMs;
    if (!mayPurge)
      log.error(
        { machineTime: isoTime(clock), databaseTime: time },
        "clock skew: this machine's clock is ahead of the database's; nothing is purged until they agree",
      );
    return mayPurge;
  };
}
