import type { Caller, Delegation } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { FairQueue } from '../../kernel/concurrency/fair-queue.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { MaybePromise } from '../../kernel/concurrency/maybe-promise.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { Identity } from '../../kernel/http/access/identity.ts';
import type { GuardDeps } from '../../kernel/http/guard.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { ExternalClientAssertion, Grant, Issue, IssuedToken, Mint } from '../../kernel/ports/grant.ts';
import type { Assertions, Signer } from '../../kernel/ports/signer.ts';
import type { RecordRefusal } from '../../kernel/refusals.ts';
import type { AccessTokenClaims } from './access-token-claims.ts';
import type { TokenEligibility } from './eligibility.ts';
import type { AgentStatus } from './store.ts';
import type { TokenStatus, TokenStatuses } from './token-status.ts';

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

export interface VerifiedToken {
  readonly claims: AccessTokenClaims;
  readonly status: TokenStatus;
  /**
   * Without scopes that the agent may no longer hold; for a delegated token, scopes that the subject may no longer hold. A token for
   * a registered resource has all of its scopes or is not valid.
   */
  readonly scopes: readonly string[];
  readonly delegation?: Delegation;
  /** The chain of this delegated token has ended, so the token opens nothing. */
  readonly ended?: NonNullable<Identity['ended']>;
}

/**
 * Undefined for a token that is not ours, expired or revoked, or whose agent is not active; a delegated token whose chain has
 * ended says so. With an audience, tokens for other audiences are undefined too.
 */
export type VerifyToken = (token: string, audience?: string) => MaybePromise<VerifiedToken | undefined>;

export interface TokenVerifier extends Pick<GuardDeps, 'authenticate' | 'explain'> {
  readonly verify: VerifyToken;
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
