import { bearer, type RouteEntry, route } from '../../kernel/http/route.ts';
import { Activity, TokensByAgent, TokensByDay, TokensQuery } from './schema.ts';
import type { AnalyticsService } from './service.ts';

export const analyticsRoutes = (analytics: AnalyticsService): RouteEntry[] => [
  route({
    id: 'getTokenAnalytics',
    summary: 'Tokens issued to your organization, day by day',
    tag: 'Analytics',
    method: 'GET',
    url: '/analytics/tokens',
    access: bearer(),
    limit: 'caller',
    cost: 'heavy',
    schema: { query: TokensQuery, response: { 200: TokensByDay } },
    errors: ['ROUTE_NOT_FOUND'],
    handler: ({ caller, query }) => analytics.tokens(caller, query.days),
  }),
  route({
    id: 'getActivityAnalytics',
    summary: 'When in the week your agents are active',
    description: 'Counts the tokens of the last 90 days by weekday and hour (UTC).',
    tag: 'Analytics',
    method: 'GET',
    url: '/analytics/agents/activity',
    access: bearer(),
    limit: 'caller',
    cost: 'heavy',
    schema: { response: { 200: Activity } },
    errors: ['ROUTE_NOT_FOUND'],
    handler: ({ caller }) => analytics.activity(caller),
  }),
  route({
    id: 'getAgentAnalytics',
    summary: 'Tokens issued to each of your agents this month',
    tag: 'Analytics',
    method: 'GET',
    url: '/analytics/agents',
    access: bearer(),
    limit: 'caller',
    cost: 'heavy',
    schema: { response: { 200: TokensByAgent } },
    errors: ['ROUTE_NOT_FOUND'],
    handler: ({ caller }) => analytics.agents(caller),
  }),
];
