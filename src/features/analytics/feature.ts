/**
 * Analytics: tokens and approvals of an organization's agents over time. A read model: it owns no table and reads `token_hours` and
 * `token_months`, which the usage feature writes, and `approvals`. So the cost of a response does not grow with the number of tokens.
 */

import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { open, type RouteEntry } from '../../kernel/http/route.ts';
import type { Usage } from '../usage/feature.ts';
import { approvalAnalyticsRoutes } from './approvals-slice.ts';
import { analyticsRoutes } from './routes.ts';
import { createAnalyticsService } from './service.ts';

export interface AnalyticsDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly countIssued: Usage['countIssued'];
  /** When false, every route answers 404. */
  readonly enabled: boolean;
}

export function createAnalytics(deps: AnalyticsDeps) {
  const routes = [...analyticsRoutes(createAnalyticsService(deps)), ...approvalAnalyticsRoutes(deps)];
  return { routes: deps.enabled ? routes : routes.map(switchedOff) };
}

const switchedOff = ({ schema, ...entry }: RouteEntry): RouteEntry => ({
  ...entry,
  access: open(),
  schema: { response: schema.response },
  handler: () =>
    fail('ROUTE_NOT_FOUND', { message: 'Analytics is switched off on this instance (ANALYTICS_ENABLED).' }),
});
