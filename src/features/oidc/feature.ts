/**
 * OIDC: workloads elsewhere become agents without a secret. Trust policies say whose tokens make somebody which agent; such
 * a token is exchanged for an access token of ours, here or as a client assertion at the token endpoint. The other way
 * round, an agent gets an ID token with which it becomes somebody at a cloud. Owns `trust_policies`, `trust_policy_uses` and
 * `used_outside_tokens`. Access tokens are made by the tokens feature; whose signature is good, by adapters/keys/external-tokens.ts.
 */

import type { Oidc, OidcDeps } from './deps.ts';
import { createExchange } from './exchange/exchange.ts';
import { createIdTokens } from './exchange/id-token.ts';
import { createTokenTest } from './exchange/test-token.ts';
import { createExpiryLoop } from './loops.ts';
import { createPolicyService } from './policies/service.ts';
import { oidcRoutes } from './routes.ts';

export { clientWords, grantWords } from './exchange/request.ts';

export function createOidc(deps: OidcDeps): Oidc {
  const exchange = createExchange(deps);
  return {
    routes: oidcRoutes({
      issuer: deps.issuer,
      policies: createPolicyService(deps),
      test: createTokenTest(deps),
      exchange,
      issueIdToken: createIdTokens(deps),
    }),
    loops: [createExpiryLoop(deps)],
    exchange,
  };
}
