import { type RouteEntry, route, scope } from '../../kernel/route.ts';
import { Agent, AgentPage, AgentParams, AgentQuery, NewAgent } from './schema.ts';
import type { AgentService } from './service.ts';

export const agentRoutes = (agents: AgentService): RouteEntry[] => [
  route({
    id: 'createAgent',
    summary: 'Register an agent',
    tag: 'Agents',
    method: 'POST',
    url: '/agents',
    access: scope('agents:write'),
    limit: 'caller',
    schema: { body: NewAgent, response: { 201: Agent } },
    errors: ['VALIDATION_ERROR', 'INSUFFICIENT_SCOPE', 'FORBIDDEN', 'ORG_NOT_FOUND', 'AGENT_ALREADY_EXISTS'],
    handler: ({ caller, body }) => agents.create(caller, body),
  }),
  route({
    id: 'listAgents',
    summary: "List the organization's agents, newest first",
    tag: 'Agents',
    method: 'GET',
    url: '/agents',
    access: scope('agents:read'),
    limit: 'caller',
    schema: { query: AgentQuery, response: { 200: AgentPage } },
    errors: ['VALIDATION_ERROR', 'INSUFFICIENT_SCOPE'],
    handler: ({ caller, query }) => agents.list(caller, query),
  }),
  route({
    id: 'getAgent',
    summary: 'Read one agent',
    tag: 'Agents',
    method: 'GET',
    url: '/agents/:agentId',
    access: scope('agents:read'),
    limit: 'caller',
    schema: { params: AgentParams, response: { 200: Agent } },
    errors: ['VALIDATION_ERROR', 'INSUFFICIENT_SCOPE', 'AGENT_NOT_FOUND'],
    handler: ({ caller, params }) => agents.get(caller, params.agentId),
  }),
];
