import { bearer, type RouteEntry, route } from '../../kernel/http/route.ts';
import type { UsageDeps } from './feature.ts';
import {
  AgentUsagePage,
  AgentUsageQuery,
  Usage,
  UsageExport,
  UsageExportQuery,
  UsageLimits,
  UsageQuery,
} from './schema.ts';
import type { UsageService } from './service.ts';

export const usageRoutes = (usage: UsageService, limitsOf: UsageDeps['limitsOf']): RouteEntry[] => [
  route({
    id: 'getUsage',
    summary: 'Usage of your organization, by day or by agent',
    tag: 'Usage',
    method: 'GET',
    url: '/usage',
    access: bearer(),
    limit: 'caller',
    cost: 'heavy',
    schema: { query: UsageQuery, response: { 200: Usage } },
    handler: ({ caller, query }) => usage.usage(caller, query),
  }),
  route({
    id: 'listUsageByAgent',
    summary: 'Usage of each agent of your organization, the one with the most calls first',
    tag: 'Usage',
    method: 'GET',
    url: '/usage/agents',
    access: bearer(),
    limit: 'caller',
    cost: 'heavy',
    schema: { query: AgentUsageQuery, response: { 200: AgentUsagePage } },
    handler: ({ caller, query }) => usage.byAgent(caller, query),
  }),
  route({
    id: 'getUsageLimits',
    summary: "Your plan's limits, and how much of each is left",
    tag: 'Usage',
    method: 'GET',
    url: '/usage/limits',
    access: bearer(),
    limit: 'caller',
    quota: 'free',
    schema: { response: { 200: UsageLimits } },
    handler: ({ caller }) => limitsOf(caller),
  }),
  route({
    id: 'exportUsage',
    summary: 'Usage of each agent and day, as a file',
    tag: 'Usage',
    method: 'GET',
    url: '/usage/export',
    access: bearer(),
    limit: 'caller',
    cost: 'heavy',
    produces: 'text/csv',
    alsoProduces: ['application/x-ndjson'],
    schema: { query: UsageExportQuery, response: { 200: UsageExport } },
    async handler({ caller, query, header }) {
      const { name, contentType, text } = await usage.export(caller, query);
      header('content-type', contentType);
      header('content-disposition', `attachment; filename="${name}"`);
      return text;
    },
  }),
];
