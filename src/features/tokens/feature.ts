/**
 * Tokens: authenticates clients and issues access tokens, verifies tokens for the guard, introspects and revokes them. Owns
 * `token_revocations` and `used_assertions`. Its store also reads agents, organizations, credentials, resources and grants, because
 * the hot path reads all of a client in one query.
 */

import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { FairQueue } from '../../kernel/concurrency/fair-queue.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { GuardDeps } from '../../kernel/http/guard.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { ExternalClientAssertion, Grant, Issue, IssuedToken, Mint } from '../../kernel/ports/grant.ts';
import type { Assertions, Signer } from '../../kernel/ports/signer.ts';
import type { RecordRefusal } from '../../kernel/refusals.ts';
import { createClientAuthentication } from './clients/authenticate-client.ts';
import { createProofVerifier } from './clients/verify-credential.ts';
import { createDraftToken } from './draft-token.ts';
import { findEligibility, lockEligibility, type TokenEligibility } from './eligibility.ts';
import { clientCredentials } from './endpoint/client-credentials.ts';
import { createTokenEndpoint } from './endpoint/token-endpoint.ts';
import { createIntrospection } from './introspection.ts';
import { createIssueOne } from './issue-one.ts';
import { createExpiryLoop } from './loops.ts';
import { createPreview } from './preview/preview.ts';
import { tokenRoutes } from './routes.ts';
import { createLimitScopes } from './scope-limit.ts';
import type { AgentStatus } from './store.ts';
import type { TokenStatuses } from './token-status.ts';
import { createTokenVerifier, type TokenVerifier } from './verify-token.ts';

export { createTokenStatuses } from './token-status.ts';

export interface TokenDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly recordRefusal: RecordRefusal;
  /** For transactions that exchange a token: limits how many wait for locks, per organization and in all. */
  readonly exchangeQueue: FairQueue;
  readonly metrics: Metrics;
  readonly signer: Signer;
  /** Our issuer identifier, and the audience of tokens for our own API. */
  readonly issuer: string;
  /** Whether agents get tokens for audiences that are no registered resource. */
  readonly unregisteredResources: 'allow' | 'refuse';
  /** `verified`: each organization has its own loopback resources. */
  readonly resourceIdentifiers: 'open' | 'verified';
  readonly assertions: Assertions;
  readonly statuses: TokenStatuses;
  /** The grants of other features; `client_credentials` is this feature's own. */
  readonly grants: readonly Grant[];
  readonly externalAssertions: ExternalAssertions;
  /** Whether the caller administers its own organization. */
  isAdmin(caller: Caller): Promise<boolean>;
  /**
   * Whether the plans allow these tokens, in the order of the clients: undefined, and then each must be recorded in the same
   * transaction; the limit that is reached; or `busy`, when another transaction holds the lock and this one does not wait.
   */
  checkPlans(
    tx: Tx,
    clients: readonly AgentStatus[],
    options: { waiting: boolean },
  ): Promise<readonly (PlanLimit | 'busy' | undefined)[]>;
  /** Whether the plan limits the tokens of this client or of its organization. */
  hasTokenLimit(client: AgentStatus): boolean;
  /** The plan's limit that refuses a token of this client now. Counts nothing. */
  reachedPlanLimit(db: Queryable, client: AgentStatus): Promise<PlanLimit | undefined>;
  countIntrospection(caller: Caller): void;
  /** A client has authenticated with this credential. */
  recordUse(credentialId: string): void;
}

export interface PlanLimit {
  readonly limitType: string;
  readonly limit: number;
  readonly resetsAt: string;
  /** Which limit, and when it resets. */
  readonly description: string;
}

/** Clients that authenticate by an assertion of an external issuer. */
export interface ExternalAssertions {
  isExternal(assertion: string): boolean;
  /** Issues a token of the client's own. */
  redeem(assertion: ExternalClientAssertion, audience: string): Promise<IssuedToken>;
  /** Authenticates the client for another grant. One transaction marks the assertion as used and issues. */
  authenticateWorkload(assertion: ExternalClientAssertion, issue: Issue): Promise<IssuedToken>;
}

export interface Tokens extends TokenVerifier, Pick<GuardDeps, 'authenticateClient'> {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
  readonly mint: Mint;
  /** Undefined when the agent does not exist. It does not change until the transaction ends. */
  lockEligibility(tx: Tx, agentId: string): Promise<TokenEligibility | undefined>;
  /** The same without a lock. */
  findEligibility(db: Queryable, agentId: string): Promise<TokenEligibility | undefined>;
}

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
