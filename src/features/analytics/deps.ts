import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';

export interface AnalyticsDeps {
  readonly db: Db;
  readonly clock: Clock;
  /** Counts the issued tokens that are not in the counters yet. */
  countIssued(): Promise<void>;
  /** When false, every route answers 404. */
  readonly enabled: boolean;
}
