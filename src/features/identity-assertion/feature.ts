/**
 * Identity assertions (ID-JAG): the company's identity provider says that an agent may act for a person, and the agent gets a token for an API
 * of the company without a consent page. Describes the grant jwt-bearer (RFC 7523 §2.1), whose other assertions are those of workloads: the
 * workload identity feature exchanges them. Owns no tables. An accepted assertion is a chain of the delegation feature, with the origin
 * `assertion`; people and connections belong to their own features. Those that we issue ourselves are a token exchange (delegation).
 */

import type { ExternalTokens } from '../../kernel/ports/external-tokens.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { ClientAgents } from '../agents/client-agents.ts';
import type { AgentService } from '../agents/service.ts';
import type { ClientAccess } from '../clients/service.ts';
import type { ConnectionAccess } from '../connections/service.ts';
import type { Consents } from '../delegation/consents.ts';
import type { PeopleAccess, PeopleSignIn } from '../people/service.ts';
import type { ResourceAccess } from '../resources/access.ts';
import { createAssertionGrant } from './assertion-grant.ts';

export interface IdentityAssertionDeps
  extends Pick<SharedDeps, 'db'>,
    Pick<ResourceAccess, 'findLendingTarget' | 'readAuthorizationDetails'>,
    Pick<ClientAgents, 'findClientAgent' | 'hasDocument'> {
  /** Our own issuer: the audience of the assertions, and never their issuer. */
  readonly issuer: string;
  readonly externalTokens: ExternalTokens;
  readonly clients: Pick<ClientAccess, 'resolve' | 'agentOf' | 'admits'>;
  readonly consents: Pick<Consents, 'prepare' | 'lendable'>;
  readonly people: Pick<PeopleAccess, 'findByIdentity'> & Pick<PeopleSignIn, 'admit'>;
  readonly connections: Pick<ConnectionAccess, 'findAsserting'>;
  readonly findAgent: AgentService['find'];
  readonly lockAgents: AgentService['lockAll'];
}

export const createIdentityAssertions = (deps: IdentityAssertionDeps) => ({
  grant: createAssertionGrant(deps),
});
