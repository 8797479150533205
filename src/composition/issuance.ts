/**
 * Issuance: the token endpoint and its grants, delegations, workload federation, partners, the documents that clients discover them by,
 * and the access that an agent has by all of these.
 */
import { assertionAlgorithms, createAssertions } from '../adapters/keys/keys.ts';
import { createAccess } from '../features/access/feature.ts';
import { createApprovalNotifications, createApprovals } from '../features/approvals/feature.ts';
import { createAuthorization } from '../features/authorization/feature.ts';
import { createDelegations, type Delegations } from '../features/delegation/feature.ts';
import { createDiscovery } from '../features/discovery/feature.ts';
import { createFederation, findPartnerByIssuer } from '../features/federation/feature.ts';
import { createIdentityAssertions } from '../features/identity-assertion/feature.ts';
import { findLenders } from '../features/people/feature.ts';
import { createSignalStreams } from '../features/signals/feature.ts';
import { createTokens, type Tokens } from '../features/tokens/feature.ts';
import {
  backchannelRefusalCodes,
  clientRefusalCodes,
  createWorkloadIdentity,
  exchangeRefusalCodes,
  findPolicyPower,
  grantRefusalCodes,
  type WorkloadIdentity,
} from '../features/workload-identity/feature.ts';
import type { Caller } from '../kernel/caller.ts';
import { createFairQueue } from '../kernel/concurrency/fair-queue.ts';
import { rest } from '../kernel/concurrency/pace.ts';
import type { SessionDeps } from '../kernel/http/access/session-requests.ts';
import type { BillingAndReports } from './billing-and-reports.ts';
import type { Events } from './events.ts';
import type { Foundations } from './foundations.ts';
import type { Registry } from './registry.ts';

/**
 * A token exchange holds a database connection while it waits for locks. All kinds of exchange share these places, so that
 * connections remain for other requests; one organization can take half of the places.
 */
const exchanges = { concurrency: 4, perKey: 2, maxQueue: 200, maxWaitMs: 30_000 } as const;

export function createIssuance(
  base: Foundations,
  events: Events,
  registry: Registry,
  { tiers }: BillingAndReports,
  { authenticateSession }: Pick<SessionDeps, 'authenticateSession'>,
) {
  const { config, log, clock, metrics, ids, db, signer, externalTokens } = base;
  const { ledger, recordRefusal, statuses, usage } = events;
  const { organizations, agents, credentials, refuseImpersonation } = registry;
  const shared = { db, clock, ids, ledger, metrics, signer, issuer: config.baseUrl };
  const exchanging = {
    ...shared,
    recordRefusal,
    exchangeQueue: createFairQueue({ ...exchanges, measured: { metrics, name: 'token_exchanges' } }),
  };
  const isAdmin = async (caller: Caller) => (await organizations.roleOf(caller)) === 'admin';

  const resources = registry.resources.access;

  const delegations: Delegations = createDelegations({
    ...shared,
    ...resources,
    unregisteredResources: config.unregisteredResources,
    findLenders,
    // Each needs the other: redeeming a delegation mints a token, and the token endpoint offers the delegation's grant.
    verifyAccessToken: async (token) => tokens.verify(token),
    findAgents: agents.findAll,
    lockAgents: agents.lockAll,
    organizationStatusOf: organizations.statusOf,
    roleOf: organizations.roleOf,
    refuseImpersonation,
    findPolicyPower,
    findPartner: findPartnerByIssuer,
    count: (metric, { organizationId, agentId }) => usage.count(organizationId, agentId, metric),
  });
  const authorization = createAuthorization({
    ...shared,
    log,
    authenticateSession,
    hasInstanceProvider: base.provider !== undefined,
    clients: registry.clients.access,
    consents: delegations.consents,
    people: registry.people,
    connections: registry.connections,
    findLendingTarget: resources.findLendingTarget,
    detailsProblem: resources.detailsProblem,
    findClientAgent: agents.findClientAgent,
  });
  const approvals = createApprovals({
    ...shared,
    recordRefusal,
    vault: events.vault,
    consents: delegations.consents,
    newRefreshToken: authorization.newRefreshToken,
    isPublicClient: authorization.isPublicClient,
    findLendingTarget: resources.findLendingTarget,
    readAuthorizationDetails: resources.readAuthorizationDetails,
    detailsProblem: resources.detailsProblem,
    lockAgents: agents.lockAll,
    // Each needs the other: asking for an approval authenticates the client, and the token endpoint offers the grant of approvals.
    authenticateClient: async (...request) => tokens.authenticateClient(...request),
    findExternalAssertion: (...request) => tokens.findExternalAssertion(...request),
    authenticateWorkload: (proof, act) =>
      workloads.exchange.authenticateWorkload(proof, backchannelRefusalCodes, act),
    isAdmin,
    organizationFor: organizations.get,
    lockOrganization: organizations.lockOrganization,
    openStream: events.eventStream.openPersonal,
    notifications: createApprovalNotifications({
      ...shared,
      log,
      outbound: base.outbound,
      vault: events.vault,
      mailer: base.mailer,
      baseUrl: config.baseUrl,
      pause: rest,
    }),
  });
  const assertions = createIdentityAssertions({
    ...shared,
    externalTokens,
    clients: registry.clients.access,
    consents: delegations.consents,
    people: registry.people,
    connections: registry.connections,
    findLendingTarget: resources.findLendingTarget,
    readAuthorizationDetails: resources.readAuthorizationDetails,
    findClientAgent: agents.findClientAgent,
    hasDocument: agents.hasDocument,
    findAgent: agents.find,
    lockAgents: agents.lockAll,
  });
  const grants = [delegations.grant, ...authorization.grants, approvals.grant, assertions.grant];
  const tokens: Tokens = createTokens({
    ...exchanging,
    ...resources,
    findLenders,
    assertions: createAssertions(clock),
    possession: base.possession,
    statuses,
    isAdmin,
    grants,
    revokeRefreshToken: authorization.revokeRefreshToken,
    resourceIdentifiers: config.resourceIdentifiers,
    // Each needs the other: clients authenticate with a workload's token, and the exchange of such a token mints ours.
    externalAssertions: {
      isExternal: (assertion) => workloads.exchange.isExternal(assertion),
      exchange: (proof, audience) => workloads.exchange.redeem(proof, audience, exchangeRefusalCodes),
      redeem: (proof, audience) => workloads.exchange.redeem(proof, audience, clientRefusalCodes),
      authenticateWorkload: (proof, issue) =>
        workloads.exchange.authenticateWorkload(proof, grantRefusalCodes, issue),
    },
    checkPlans: tiers.checkTokens,
    hasTokenLimit: tiers.hasTokenLimit,
    reachedPlanLimit: tiers.reachedTokenLimit,
    countIntrospection: ({ organizationId, agentId }) =>
      usage.count(organizationId, agentId, 'introspections'),
    recordUse: credentials.recordUse,
  });
  const workloads: WorkloadIdentity = createWorkloadIdentity({
    ...exchanging,
    ...resources,
    multiTenant: config.multiTenant,
    externalTokens,
    allowHttp: config.webhookAllowPrivateTargets,
    mint: tokens.mint,
    countExchange: ({ organizationId, agentId }) => usage.count(organizationId, agentId, 'token_exchanges'),
    lockEligibility: tokens.lockEligibility,
    findEligibility: tokens.findEligibility,
    provePossession: tokens.possession.prove,
    lockAgent: agents.lock,
    refuseOwnAgent: events.provisionedProofs.refuseOwnAgent,
    refuseImpersonation,
    endDelegationsOf: delegations.endOfPolicy,
    roleOf: organizations.roleOf,
  });
  const access = createAccess({
    agentFor: agents.get,
    findEligibility: (agentId) => tokens.findEligibility(db, agentId),
    roleOf: organizations.roleOf,
    listGrants: registry.resources.listGrants,
    findGrants: (queries) => resources.findGrants(db, queries),
    grantedScopes: resources.grantedScopes,
    listReceivedDelegations: delegations.listReceived,
    listActivePolicies: workloads.listActivePolicies,
  });
  const federation = createFederation({
    ...shared,
    externalTokens,
    allowHttp: config.webhookAllowPrivateTargets,
  });
  const discovery = createDiscovery({
    issuer: config.baseUrl,
    assertionAlgorithms,
    proofAlgorithms: base.possession.algorithms,
    grantTypes: grants.map(({ grantType }) => grantType),
    signer,
  });
  const signalStreams = createSignalStreams({
    ...shared,
    log,
    vault: events.vault,
    polls: events.signals.polls,
    distribution: events.signals.distribution,
    pushEnabled: config.webhooksEnabled,
    requirePermission: registry.requirePermission,
  });
  return {
    signalStreams,
    tokens,
    authorization,
    approvals,
    delegations,
    workloads,
    access,
    federation,
    discovery,
  };
}

export type Issuance = ReturnType<typeof createIssuance>;
