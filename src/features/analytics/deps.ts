import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';

export interface AnalyticsDeps {
  readonly db: Db;
  readonly clock: Clock;
  /** False: there is nothing here, for anybody. */
  readonly enabled: boolean;
}
