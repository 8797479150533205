import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';

/** The result of the audit watch for one organization. */
export interface AuditStatus {
  readonly intact: boolean;
  /** When the last round of the watch ended in this process; null before the first round. */
  readonly checkedAt: string | null;
}

export interface OverviewDeps {
  readonly db: Db;
  readonly clock: Clock;
  /** Counts the issued tokens that are not in the counters yet. */
  countIssued(): Promise<void>;
  auditStatus(organizationId: string): AuditStatus;
}
