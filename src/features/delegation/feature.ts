/**
 * Delegation (RFC 8693): an agent or a person lets an agent act on its behalf, with some of its scopes, for a limited time, revocably. Owns
 * `delegations`. A delegation token refers to a link and is no access token: the delegatee exchanges it at the token endpoint of
 * the tokens feature, by the grant described here. The same grant issues identity assertions for partners. Scopes, audiences and time only
 * narrow from link to link.
 */

import type { Queryable } from '../../kernel/data/db.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { Agent } from '../agents/schema.ts';
import type { AgentService } from '../agents/service.ts';
import type { OrganizationService } from '../organizations/service.ts';
import type { findLenders } from '../people/lenders-store.ts';
import type { ResourceAccess } from '../resources/access.ts';
import type { VerifiedToken } from '../tokens/verify-token.ts';
import type { FindPolicyPower } from '../workload-identity/policies/store.ts';
import { createConsents } from './consents.ts';
import { createPurgeLoop } from './loops.ts';
import { ownConsentRoutes } from './own-consents-slice.ts';
import { delegationRoutes } from './routes.ts';
import { createDelegationService } from './service.ts';
import { findLinkStatuses } from './store.ts';
import { createTokenExchange } from './token-exchange.ts';

export { revokeChainsWithAgent, revokeChainsWithPerson } from './revoke-with-subject.ts';

/** An agent of a chain of delegations. */
export type ChainAgent = Pick<
  Agent,
  'agentId' | 'organizationId' | 'status' | 'allowedScopes' | 'publicClient' | 'clientUri'
>;

export interface DelegationDeps
  extends Pick<
      ResourceAccess,
      'findGrant' | 'findGrants' | 'findPersonGrants' | 'audienceScopesOf' | 'grantedScopes'
    >,
    Pick<OrganizationService, 'roleOf' | 'refuseImpersonation'>,
    Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'metrics'> {
  readonly signer: Signer;
  readonly issuer: string;
  /** Whether tokens are issued for audiences that no organization has registered. */
  readonly unregisteredResources: 'allow' | 'refuse';
  readonly findLenders: typeof findLenders;
  readonly findAgents: AgentService['findAll'];
  readonly lockAgents: AgentService['lockAll'];
  readonly organizationStatusOf: OrganizationService['statusOf'];
  readonly findPolicyPower: FindPolicyPower;
  /** A partner of the federation, by its issuer. */
  findPartner(
    db: Queryable,
    issuer: string,
  ): Promise<{ readonly issuer: string; readonly idJag: boolean } | undefined>;
  verifyAccessToken(token: string): Promise<VerifiedToken | undefined>;
  /** Counts usage; called after the commit. */
  count(
    metric: 'delegations_created' | 'token_exchanges',
    agent: { organizationId: string; agentId: string },
  ): void;
}

export function createDelegations(deps: DelegationDeps) {
  const service = createDelegationService(deps);
  const consents = createConsents(deps);
  return {
    routes: [...delegationRoutes(service), ...ownConsentRoutes(consents)],
    loops: [createPurgeLoop(deps)],
    grant: createTokenExchange(deps),
    /** In the order of the ids; links that do not exist are left out. */
    findLinkStatuses: (chainIds: readonly string[]) => findLinkStatuses(deps.db, chainIds),
    consents,
    endOfPolicy: service.endOfPolicy,
    listReceived: service.listReceived,
  };
}

export type Delegations = ReturnType<typeof createDelegations>;
