import type { Clock } from './clock.ts';
import type { Db } from './data/db.ts';
import type { Ids } from './ids.ts';
import type { Ledger } from './ledger.ts';
import type { Log } from './observability/log.ts';
import type { Metrics } from './observability/metrics.ts';

/** What most features need. A feature names its part: `Pick<SharedDeps, 'db' | 'clock'>`. */
export interface SharedDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly log: Log;
  readonly metrics: Metrics;
}
