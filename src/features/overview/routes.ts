import { type RouteEntry, route, scope } from '../../kernel/http/route.ts';
import { Overview, OverviewQuery } from './schema.ts';
import type { OverviewService } from './service.ts';

export const overviewRoutes = (overview: OverviewService): RouteEntry[] => [
  route({
    id: 'getOverview',
    summary: 'The state of your organization: tokens, refusals, and things that need attention',
    description:
      'Parts that need another scope than agents:read are null for a caller without that scope: `tokens`, `refusals`, `approvals` and `audit` need audit:read, and `failingDeliveries` needs webhooks:read.',
    tag: 'Overview',
    method: 'GET',
    url: '/overview',
    access: scope('agents:read'),
    limit: 'caller',
    cost: 'heavy',
    schema: { query: OverviewQuery, response: { 200: Overview } },
    errors: ['ORG_NOT_FOUND'],
    handler: ({ caller, query }) => overview.of(caller, query),
  }),
];
