import { type RouteEntry, route, scope } from '../../kernel/http/route.ts';
import { AgentAccess, AgentParams } from './schema.ts';
import type { AccessService } from './service.ts';

export const accessRoutes = (access: AccessService): RouteEntry[] => [
  route({
    id: 'getAgentAccess',
    summary: 'Read everything that an agent can do now, and through what',
    tag: 'Agents',
    limit: 'caller',
    method: 'GET',
    url: '/agents/:agentId/access',
    access: scope('agents:read'),
    schema: { params: AgentParams, response: { 200: AgentAccess } },
    errors: ['AGENT_NOT_FOUND'],
    handler: ({ caller, params }) => access.get(caller, params.agentId),
  }),
];
