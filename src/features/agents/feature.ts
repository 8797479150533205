/**
 * Agents: the registry of agents and the organizations they belong to. Owns `agents`, their public keys included, and
 * `agent_counts`. The credentials feature owns secrets, the tokens feature tokens, the organizations feature plan limits.
 */

import type { AgentDeps, Agents } from './deps.ts';
import { createEmailIndexLoop } from './email-index-store.ts';
import { agentRoutes } from './routes.ts';
import { createAgentService } from './service.ts';

export { invalidateAgents } from './agent-cache.ts';
export { dropGlobalEmailIndex } from './email-index-store.ts';

export function createAgents(deps: AgentDeps): Agents {
  const service = createAgentService(deps);
  return {
    ...service,
    get: async (caller, agentId) => service.get(caller, agentId),
    routes: agentRoutes(service),
    loops: deps.multiTenant ? [createEmailIndexLoop(deps)] : [],
  };
}
