/**
 * A second opinion on the time, before something is taken away for good because it is over. By a clock that is months ahead all
 * of the audit log would be; the database's own is not likely to be as wrong.
 */
import { type Clock, isoTime } from '../clock.ts';
import type { Log } from '../observability/log.ts';
import type { Db } from './db.ts';
import { sql } from './sql.ts';

/** More than clocks differ by that anybody looks after. */
const toleratedMs = 300_000;

/** Whether our clock is not ahead of the database's. */
export function createSecondClock(deps: { db: Db; clock: Clock; log: Log }): () => Promise<boolean> {
  const { db, clock, log } = deps;
  return async () => {
    const { time } = await db.one<{ time: string }>('time', sql`select clock_timestamp() as time`);
    const isRight = clock.now() - Date.parse(time) <= toleratedMs;
    if (!isRight)
      log.error(
        { ours: isoTime(clock), databases: time },
        "the clock of this machine is ahead of the database's; nothing that is over is deleted until they agree",
      );
    return isRight;
  };
}
