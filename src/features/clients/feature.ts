/**
 * OAuth clients: registered agents, and clients that present a metadata document at their first use. Reads the documents, decides by the
 * organization's policy who is admitted, and gives each client an agent. Owns `client_policies`. The agents feature owns the agents,
 * their redirect URIs and keys; the authorization endpoint asks people.
 */

import type { Outbound } from '../../kernel/ports/outbound.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { ClientAgents } from '../agents/client-agents.ts';
import type { AgentService } from '../agents/service.ts';
import type { OrganizationService } from '../organizations/service.ts';
import { clientPolicyRoutes } from './client-policy-slice.ts';
import { createClientService } from './service.ts';

export interface ClientDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ledger'> {
  readonly outbound: Outbound;
  readonly findAgent: AgentService['find'];
  readonly factsOf: AgentService['facts'];
  readonly agents: ClientAgents;
  readonly readPublishedKeys: AgentService['readPublishedKeys'];
  readonly organizationFor: OrganizationService['get'];
  readonly lockOrganization: OrganizationService['lockOrganization'];
}

export function createClients(deps: ClientDeps) {
  return { access: createClientService(deps), routes: clientPolicyRoutes(deps) };
}
