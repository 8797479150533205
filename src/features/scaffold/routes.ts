import { limits } from '../../contract/limits.ts';
import { bearer, type RouteEntry, route } from '../../kernel/http/route.ts';
import { Archive, ScaffoldParams, ScaffoldQuery } from './schema.ts';
import type { ScaffoldService } from './service.ts';

export const scaffoldRoutes = ({ scaffold }: ScaffoldService): RouteEntry[] => [
  route({
    id: 'scaffoldAgent',
    summary: 'Download a project for an agent, ready to run, in a language of your choice',
    tag: 'SDK scaffold',
    method: 'GET',
    url: '/sdk/scaffold/:agentId',
    access: bearer(),
    limit: { perMinute: limits.scaffoldsPerMinutePerTenant, per: 'organization', headers: 'own' },
    produces: 'application/zip',
    schema: { params: ScaffoldParams, query: ScaffoldQuery, response: { 200: Archive } },
    errors: ['FORBIDDEN', 'AGENT_NOT_FOUND', 'AGENT_DECOMMISSIONED'],
    async handler({ caller, params, query, header }) {
      const { disposition, archive } = await scaffold(caller, params.agentId, query.language);
      header('content-disposition', disposition);
      return archive;
    },
  }),
];
