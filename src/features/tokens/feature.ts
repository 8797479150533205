/**
 * Tokens: authenticates clients and issues access tokens, verifies tokens for the guard, introspects and revokes them. Owns
 * `token_revocations`, `used_assertions` and `used_proofs`. Its store also reads agents, organizations, credentials, resources and grants, because
 * the hot path reads all of a client in one query.
 */

import type { Caller } from '../../kernel/caller.ts';
import type { FairQueue } from '../../kernel/concurrency/fair-queue.ts';
import type { Possession } from '../../kernel/ports/possession.ts';
import type { Assertions, Signer } from '../../kernel/ports/signer.ts';
import type { RecordRefusal } from '../../kernel/refusals.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { RevokeRefreshToken } from '../authorization/revocation.ts';
import type { CredentialUses } from '../credentials/uses.ts';
import type { findLenders } from '../people/lenders-store.ts';
import type { ResourceAccess } from '../resources/access.ts';
import type { Tiers } from '../tiers/feature.ts';
import type { CheckTokens, ReachedTokenLimit } from '../tiers/token-quota.ts';
import { createClientAuthentication } from './clients/authenticate-client.ts';
import { createProofVerifier } from './clients/verify-credential.ts';
import { createDraftToken } from './draft-token.ts';
import { createLockClient, findEligibility, lockEligibility } from './eligibility.ts';
import { clientCredentials } from './endpoint/client-credentials.ts';
import { createFindExternalAssertion } from './endpoint/external-assertion.ts';
import { createTokenEndpoint } from './endpoint/token-endpoint.ts';
import { createForwardAuth } from './forward-auth.ts';
import type { ExternalClientAssertion, Grant, IssuedToken, WorkloadAction } from './grant.ts';
import { createIntrospection } from './introspection.ts';
import { createIssueOne } from './issue-one.ts';
import { createExpiryLoop, createProofExpiryLoop } from './loops.ts';
import { createPossessionChecks } from './possession.ts';
import { createPreview } from './preview/preview.ts';
import { tokenRoutes } from './routes.ts';
import { createLimitScopes } from './scope-limit.ts';
import type { TokenStatuses } from './token-status.ts';
import { createTokenVerifier } from './verify-token.ts';

export { createTokenStatuses } from './token-status.ts';

export interface TokenDeps
  extends Pick<
      ResourceAccess,
      'audienceScopes' | 'findOtherUse' | 'findTargets' | 'findPersonTarget' | 'joinTargets'
    >,
    Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'metrics'> {
  readonly recordRefusal: RecordRefusal;
  readonly findLenders: typeof findLenders;
  /** For transactions that exchange a token: limits how many wait for locks, per organization and in all. */
  readonly exchangeQueue: FairQueue;
  readonly signer: Signer;
  /** Our issuer identifier, and the audience of tokens for our own API. */
  readonly issuer: string;
  /** `verified`: each organization has its own loopback resources. */
  readonly resourceIdentifiers: 'open' | 'verified';
  readonly assertions: Assertions;
  readonly possession: Possession;
  readonly statuses: TokenStatuses;
  /** The grants of other features; `client_credentials` is this feature's own. */
  readonly grants: readonly Grant[];
  readonly externalAssertions: ExternalAssertions;
  readonly revokeRefreshToken: RevokeRefreshToken;
  /** Whether the caller administers its own organization. */
  isAdmin(caller: Caller): Promise<boolean>;
  readonly checkPlans: CheckTokens;
  readonly hasTokenLimit: Tiers['hasTokenLimit'];
  readonly reachedPlanLimit: ReachedTokenLimit;
  countIntrospection(caller: Caller): void;
  readonly recordUse: CredentialUses['recordUse'];
}

/** Clients that authenticate by an assertion of an external issuer. */
interface ExternalAssertions {
  isExternal(assertion: string): boolean;
  /** Issues a token of the client's own for the assertion of the grant jwt-bearer. */
  exchange(assertion: ExternalClientAssertion, audience: string): Promise<IssuedToken>;
  /** Issues a token of the client's own. */
  redeem(assertion: ExternalClientAssertion, audience: string): Promise<IssuedToken>;
  /** Authenticates the client for another grant. One transaction marks the assertion as used and issues. */
  authenticateWorkload(
    assertion: ExternalClientAssertion,
    issue: WorkloadAction<IssuedToken>,
  ): Promise<IssuedToken>;
}

export function createTokens(deps: TokenDeps) {
  const verifier = createTokenVerifier(deps);
  const proofs = createProofVerifier(deps);
  const draft = createDraftToken(deps);
  const limitScopes = createLimitScopes(deps);
  const possession = createPossessionChecks(deps);
  const mint = createIssueOne(deps, draft, limitScopes, createLockClient(possession));
  const ownGrant = clientCredentials(deps.issuer);
  const grants: [Grant, ...Grant[]] = [ownGrant, ...deps.grants];
  return {
    routes: tokenRoutes(
      createTokenEndpoint(deps, grants, { mint, draft, limitScopes, proofs, possession }),
      createIntrospection(deps, verifier.verify),
      createForwardAuth(deps, verifier, possession),
      createPreview(deps, ownGrant, limitScopes),
      deps.revokeRefreshToken,
      grants,
    ),
    loops: [createExpiryLoop(deps), createProofExpiryLoop(deps)],
    mint,
    possession,
    ...verifier,
    authenticateClient: createClientAuthentication(deps, proofs),
    findExternalAssertion: createFindExternalAssertion(deps),
    lockEligibility,
    findEligibility,
  };
}

export type Tokens = ReturnType<typeof createTokens>;
