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

const readDatabaseTime = async (db: Db): Promise<number> => {
  const { time } = await db.one<{ time: string }>('time', sql`select clock_timestamp() as time`);
  return Date.parse(time);
};

/** This machine's clock minus the database's, as exact as half of the time that the query takes. */
export async function measureClockSkew({ db, clock }: { db: Db; clock: Clock }): Promise<number> {
  const asked = clock.now();
  const databaseTime = await readDatabaseTime(db);
  return (asked + clock.now()) / 2 / 1_000 - databaseTime / 1_000;
}

/** Returns `mayPurge`: false while this machine's clock is ahead of the database's. */
export function createClockSkewGuard(deps: { db: Db; clock: Clock; log: Log }): () => Promise<boolean> {
  const { db, clock, log } = deps;
  return async () => {
    const databaseTime = await readDatabaseTime(db);
    const mayPurge = clock.now() - databaseTime <= maxSkewMs;
    if (!mayPurge)
      log.error(
        { machineTime: isoTime(clock), databaseTime: new Date(databaseTime).toISOString() },
        "clock skew: this machine's clock is ahead of the database's; nothing is purged until they agree",
      );
    return mayPurge;
  };
}
