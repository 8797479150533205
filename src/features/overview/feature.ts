/**
 * Overview: the state of one organization in one answer, for the first page of the console. A read model: it owns no table and reads
 * `audit_events`, `agents`, `agent_counts`, `credentials`, `webhook_subscriptions`, `webhook_deliveries`, `approvals`, `token_hours` and
 * `token_months`, which their features write.
 * Each query reads a limited number of rows, so the cost does not grow with the log. The status of the audit log is the result of the
 * audit feature's watch.
 */

import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { IntegrityStatus } from '../audit/integrity-status.ts';
import type { Usage } from '../usage/feature.ts';
import { overviewRoutes } from './routes.ts';
import { createOverviewService } from './service.ts';

export interface OverviewDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly countIssued: Usage['countIssued'];
  readonly auditStatus: IntegrityStatus['statusOf'];
}

export const createOverview = (deps: OverviewDeps) => ({
  routes: overviewRoutes(createOverviewService(deps)),
});
