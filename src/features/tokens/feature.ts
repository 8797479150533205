/**
 * Tokens: authenticates clients and issues access tokens, verifies tokens for the guard, introspects and revokes them. Owns
 * `token_revocations` and `used_assertions`. Its store also reads agents, organizations, credentials, resources and grants, because
 * the hot path reads all of a client in one query.
 */

import type { Grant } from '../../kernel/ports/grant.ts';
import { createClientAuthentication } from './clients/authenticate-client.ts';
import { createProofVerifier } from './clients/verify-credential.ts';
import type { TokenDeps, Tokens } from './deps.ts';
import { createDraftToken } from './draft-token.ts';
import { findEligibility, lockEligibility } from './eligibility.ts';
import { clientCredentials } from './endpoint/client-credentials.ts';
import { createTokenEndpoint } from './endpoint/token-endpoint.ts';
import { createIntrospection } from './introspection.ts';
import { createIssueOne } from './issue-one.ts';
import { createExpiryLoop } from './loops.ts';
import { createPreview } from './preview/preview.ts';
import { tokenRoutes } from './routes.ts';
import { createLimitScopes } from './scope-limit.ts';
import { createTokenVerifier } from './verify-token.ts';

export { createTokenStatuses } from './token-status.ts';

export function createTokens(deps: TokenDeps): Tokens {
  const verifier = createTokenVerifier(deps);
  const proofs = createProofVerifier(deps);
  const draft = createDraftToken(deps);
  const limitScopes = createLimitScopes(deps);
  const mint = createIssueOne(deps, draft, limitScopes);
  const ownGrant = clientCredentials(deps.issuer);
  const grants: [Grant, ...Grant[]] = [ownGrant, ...deps.grants];
  return {
    routes: tokenRoutes(
      createTokenEndpoint(deps, grants, { mint, draft, limitScopes, proofs }),
      createIntrospection(deps, verifier.verify),
      createPreview(deps, ownGrant, limitScopes),
      grants,
    ),
    loops: [createExpiryLoop(deps)],
    mint,
    ...verifier,
    authenticateClient: createClientAuthentication(deps, proofs),
    lockEligibility,
    findEligibility,
  };
}
