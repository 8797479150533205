/**
 * Overview: the state of one organization in one answer, for the first page of the console. A read model: it owns no table and reads
 * `audit_events`, `agents`, `credentials`, `webhook_subscriptions`, `webhook_deliveries` and `token_months`, which their features write.
 * Each query reads a limited number of rows, so the cost does not grow with the log. The status of the audit log is the result of the
 * audit feature's watch.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import { overviewRoutes } from './routes.ts';
import { createOverviewService } from './service.ts';

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

export const createOverview = (deps: OverviewDeps): { readonly routes: readonly RouteEntry[] } => ({
  routes: overviewRoutes(createOverviewService(deps)),
});
