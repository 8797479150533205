/** The registry: organizations, agents, their credentials and grants, resources, identity documents and listings, and the policy engine that guards them. */

import { createAttestationReader, readPublicKey } from '../adapters/keys/keys.ts';
import type { PolicyAction } from '../contract/actions.ts';
import { type Agents, createAgents } from '../features/agents/feature.ts';
import { createClients } from '../features/clients/feature.ts';
import { type Connections, createConnections } from '../features/connections/feature.ts';
import { createCredentials } from '../features/credentials/feature.ts';
import { createDid } from '../features/did/feature.ts';
import { createMarketplace, type Marketplace } from '../features/marketplace/feature.ts';
import { createOrganizations, type Organizations } from '../features/organizations/feature.ts';
import { createPeople } from '../features/people/feature.ts';
import { createResources, type Resources } from '../features/resources/feature.ts';
import { findPolicyPower, hasTrustPolicies } from '../features/workload-identity/feature.ts';
import type { Caller } from '../kernel/caller.ts';
import { resourceMetadataOf } from '../kernel/http/access/challenges.ts';
import { createMayGrant, createRequirePermission } from '../kernel/policy.ts';
import type { Events } from './events.ts';
import type { Foundations } from './foundations.ts';
import { createOpenProvider } from './open.ts';

export function createRegistry(
  base: Foundations,
  { ledger, cache, recordRefusal, provisionedProofs, vault, usage }: Events,
) {
  const { config, clock, metrics, ids, db, signer, engine } = base;
  const shared = { db, clock, ids, ledger, metrics };
  const { refuseOwnAgent, refuseLastingPower } = provisionedProofs;
  const recordPolicyRefusal = (caller: Caller, action: PolicyAction): Promise<void> => {
    const { organizationId, agentId } = caller;
    const subject = { organizationId, agentId, outcome: 'failure', metadata: { action } } as const;
    return recordRefusal({ actor: caller, type: 'policy.refused', subject });
  };
  const requirePermission = createRequirePermission({
    engine,
    // Each needs the other: a policy asks for the caller's role, and the routes of organizations ask for permission.
    roleOf: (caller) => organizations.roleOf(caller),
    recordRefusal: recordPolicyRefusal,
    resourceMetadata: resourceMetadataOf(config.baseUrl),
  });
  const organizations: Organizations = createOrganizations({
    ...shared,
    requirePermission,
    // Each needs the other: a member is an agent, and an agent's organization has a plan.
    agentFor: (caller, agentId) => agents.get(caller, agentId),
    findPolicyPower,
    refuseOwnAgent,
    refuseLastingPower,
  });
  /** A caller that gives an agent a secret, a key or a trust policy must hold all that the agent holds, its grants included. */
  const refuseImpersonation: Organizations['refuseImpersonation'] = async (tx, caller, agent) => {
    await organizations.refuseImpersonation(tx, caller, agent);
    await resources.access.refuseGrantsBeyond(tx, caller, agent);
  };
  const agents: Agents = createAgents({
    ...shared,
    cache,
    multiTenant: config.multiTenant,
    defaultScopes: config.defaultAgentScopes,
    lockOrganization: organizations.lockOrganization,
    refuseOwnAgent,
    refuseImpersonation,
    // Each needs the other: a grant belongs to an agent, and tokens for a resource carry fields of the agent.
    refuseClaimChange: (...change) => resources.access.refuseClaimChange(...change),
    // Each needs the other: a decommissioned agent loses its credentials, and a credential belongs to an agent.
    revokeCredentialsOf: (tx, agentId) => credentials.revokeAllOf(tx, agentId),
    hasActiveCredentials: (tx, agentId) => credentials.hasActive(tx, agentId),
    hasTrustPolicies,
    secretExpiries: (agentIds) => credentials.secretExpiries(agentIds),
    lastTokenDates: usage.lastTokenDates,
    countGrants: (...wanted) => resources.access.countGrants(...wanted),
    readPublicKey,
  });
  const credentials = createCredentials({
    ...shared,
    agentFor: agents.get,
    lockAgent: agents.lock,
    refuseImpersonation,
  });
  const resources: Resources = createResources({
    ...shared,
    issuer: config.baseUrl,
    resourceIdentifiers: config.resourceIdentifiers,
    unregisteredResources: config.unregisteredResources,
    outbound: base.outbound,
    requirePermission,
    lockOrganization: organizations.lockOrganization,
    organizationOf: organizations.describe,
    agentFor: agents.get,
    lockAgent: agents.lock,
    roleOf: organizations.roleOf,
    refuseOwnAgent,
    refuseLastingPower,
    mayGrant: createMayGrant(engine),
    findPolicyPower,
    recordRefusal: recordPolicyRefusal,
  });
  const clients = createClients({
    ...shared,
    outbound: base.outbound,
    findAgent: agents.find,
    factsOf: agents.facts,
    agents,
    readPublishedKeys: agents.readPublishedKeys,
    organizationFor: organizations.get,
    lockOrganization: organizations.lockOrganization,
  });
  const people = createPeople({
    ...shared,
    organizationFor: organizations.get,
    lockOrganization: organizations.lockOrganization,
    lockAgent: agents.lock,
    refuseImpersonation,
    refuseLastAdmin: organizations.refuseLastAdmin,
    // Each needs the other: an invitation by e-mail belongs to a connection, and is deleted with it.
    findConnection: (...which) => connections.findConnection(...which),
  });
  const connections: Connections = createConnections({
    ...shared,
    vault,
    organizationFor: organizations.get,
    lockOrganization: organizations.lockOrganization,
    deleteWaitingInvitations: people.deleteWaitingInvitations,
    openProvider: createOpenProvider(config, clock, base.outbound),
  });
  const did = createDid({
    baseUrl: config.baseUrl,
    clock,
    ids,
    metrics,
    signer,
    readAttestation: createAttestationReader(),
    factsOf: async (agentId) => (await agents.facts([agentId]))[0],
    organizationOf: (organizationId) => organizations.describe(db, organizationId),
    // Each needs the other: an agent card shows the listed interfaces, and a listing shows whether the agent is verified.
    interfacesOf: (agentId) => marketplace.interfacesOf(agentId),
  });
  const marketplace: Marketplace = createMarketplace({
    ...shared,
    lockAgent: agents.lock,
    refuseImpersonation,
    factsOf: agents.facts,
    isVerified: async (facts) => (await did.checkConformance(facts)).verified,
    didOf: did.identifiers.agent,
    cardUrlOf: did.identifiers.card,
  });
  return {
    requirePermission,
    refuseImpersonation,
    organizations,
    agents,
    credentials,
    clients,
    people,
    connections,
    resources,
    did,
    marketplace,
  };
}

export type Registry = ReturnType<typeof createRegistry>;
