/**
 * Authorization: the endpoint where a client asks for a person's consent, the requests of the consent page, authorization codes and
 * refresh tokens. Owns `authorization_requests`, `authorization_codes` and `refresh_tokens`. A consent itself is a chain of the delegation
 * feature; codes and refresh tokens refer to a chain, and end with it. The clients feature knows the clients, the console signs people in,
 * and the token endpoint of the tokens feature runs the two grants that are described here.
 */

import { createBrowserCookie } from './browser-cookie.ts';
import { createCodeGrant } from './code-grant.ts';
import { createConsentService } from './consent.ts';
import type { AuthorizationDeps } from './deps.ts';
import { createAuthorizationEndpoint } from './endpoint.ts';
import { createFlow } from './flow.ts';
import { isPublicClient } from './grants-store.ts';
import { createPurgeLoop } from './loops.ts';
import { createNewRefreshToken, createRefreshGrant } from './refresh-grant.ts';
import { createRevokeRefreshToken } from './revocation.ts';
import { authorizationRoutes } from './routes.ts';
import { createRequestSignIn } from './sign-in.ts';

export function createAuthorization(deps: AuthorizationDeps) {
  const newRefreshToken = createNewRefreshToken(deps);
  const cookie = createBrowserCookie(deps.issuer);
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
    hasRequest: signIn.hasRequest,
  };
}

export type Authorization = ReturnType<typeof createAuthorization>;
