/**
 * Authorization: the endpoint where a client asks for a person's consent, the requests of the consent page, authorization codes and
 * refresh tokens. Owns `authorization_requests`, `authorization_codes` and `refresh_tokens`. A consent itself is a chain of the delegation
 * feature; codes and refresh tokens refer to a chain, and end with it. The clients feature knows the clients, the console signs people in,
 * and the token endpoint of the tokens feature runs the two grants that are described here.
 */

import { limits } from '../../contract/limits.ts';
import type { SessionDeps } from '../../kernel/http/access/session-requests.ts';
import { createSecretCookie } from '../../kernel/http/input/secret-cookie.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { ClientAgents } from '../agents/client-agents.ts';
import type { ClientAccess } from '../clients/service.ts';
import type { ConnectionAccess } from '../connections/service.ts';
import type { Consents } from '../delegation/consents.ts';
import type { PeopleAccess } from '../people/service.ts';
import type { ResourceAccess } from '../resources/access.ts';
import { createCodeGrant } from './code-grant.ts';
import { createConsentService } from './consent.ts';
import { createAuthorizationEndpoint } from './endpoint.ts';
import { createFlow } from './flow.ts';
import { isPublicClient } from './grants-store.ts';
import { createPurgeLoop } from './loops.ts';
import { createRefreshGrant } from './refresh-grant.ts';
import { createNewRefreshToken } from './refresh-token.ts';
import { createRevokeRefreshToken } from './revocation.ts';
import { authorizationRoutes } from './routes.ts';
import { createRequestSignIn } from './sign-in.ts';

export interface AuthorizationDeps
  extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'log'>,
    Pick<SessionDeps, 'authenticateSession'>,
    Pick<ResourceAccess, 'findLendingTarget' | 'detailsProblem'>,
    Pick<ClientAgents, 'findClientAgent'> {
  /** Our public address, and the audience of tokens for our own API. */
  readonly issuer: string;
  /** Whether people can sign in through the instance's own OpenID provider. */
  readonly hasInstanceProvider: boolean;
  readonly clients: ClientAccess;
  readonly consents: Consents;
  readonly people: Pick<PeopleAccess, 'findPerson'>;
  readonly connections: Pick<ConnectionAccess, 'listActive' | 'haveConnections'>;
}

export function createAuthorization(deps: AuthorizationDeps) {
  const newRefreshToken = createNewRefreshToken(deps);
  // Binds a request to the browser that began it. `Lax`: the client and the provider send the browser here from other sites.
  const cookie = createSecretCookie(deps.issuer, {
    name: 'countersign-authorize',
    sameSite: 'Lax',
    maxAgeSeconds: limits.authorizationRequestSeconds,
  });
  const flow = createFlow(deps);
  const signIn = createRequestSignIn(deps, flow, cookie);
  const consents = createConsentService(deps, flow, signIn);
  return {
    routes: authorizationRoutes(createAuthorizationEndpoint(deps, flow, signIn, cookie), consents, signIn),
    loops: [createPurgeLoop(deps)],
    grants: [createCodeGrant(deps, newRefreshToken), createRefreshGrant(deps, newRefreshToken)],
    newRefreshToken,
    isPublicClient,
    revokeRefreshToken: createRevokeRefreshToken(deps),
    continueRequest: consents.continueRequest,
    findRequestPrompt: signIn.findPrompt,
  };
}

export type Authorization = ReturnType<typeof createAuthorization>;
