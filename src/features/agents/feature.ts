/**
 * Agents: the registry of who exists and whose they are. Owns `agents`, their public keys included, and `agent_counts`.
 * Secrets are the credentials feature's, tokens the tokens feature's; what a plan allows, the organizations'.
 */

import type { AgentDeps, Agents } from './deps.ts';
import { agentRoutes } from './routes.ts';
import { createAgentService } from './service.ts';

export { invalidateAgents } from './agent-cache.ts';

export function createAgents(deps: AgentDeps): Agents {
  const service = createAgentService(deps);
  return { ...service, routes: agentRoutes(service) };
}
