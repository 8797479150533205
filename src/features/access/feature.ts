/**
 * Access: everything that an agent can do now, and through what: its own scopes, its grants, the delegations it has received, and the
 * trust policies by which workloads become this agent. Owns no table; reads the other features through its ports.
 */

import type { Grant } from '../../contract/shapes.ts';
import type { Caller } from '../../kernel/caller.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Role } from '../../kernel/policy.ts';
import type { AgentGrant, GrantQuery } from '../../kernel/ports/resources.ts';
import { accessRoutes } from './routes.ts';
import type { DelegatedAccess, PolicyAccess } from './schema.ts';
import { createAccessService } from './service.ts';

interface AgentId {
  readonly agentId: string;
  readonly organizationId: string;
}

/** Every list is newest first. */
export interface AccessDeps {
  /** The agent, if the caller may see it; AGENT_NOT_FOUND otherwise. */
  agentFor(caller: Caller, agentId: string): Promise<AgentId>;
  /** Why the agent can get no token now, and the scopes of our own API that its tokens can carry; undefined when it does not exist. */
  findEligibility(
    agentId: string,
  ): Promise<{ readonly problem?: string; readonly scopes: readonly string[] } | undefined>;
  /** The agent's role in its own organization. */
  roleOf(agent: AgentId): Promise<Role>;
  listGrants(agentId: string, limit: number): Promise<readonly Grant[]>;
  /** In the order of the queries; undefined where no resource has the identifier. */
  findGrants(queries: readonly GrantQuery[]): Promise<readonly (AgentGrant | undefined)[]>;
  /** The active chains that end with this agent, with the scopes that it can get by them now. */
  listReceivedDelegations(agentId: string, limit: number): Promise<readonly DelegatedAccess[]>;
  /** With the scopes that they name: the agent may hold fewer. */
  listActivePolicies(agentId: string, limit: number): Promise<readonly PolicyAccess[]>;
}

export const createAccess = (deps: AccessDeps): { routes: readonly RouteEntry[] } => ({
  routes: accessRoutes(createAccessService(deps)),
});
