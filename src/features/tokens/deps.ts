import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { FairQueue } from '../../kernel/concurrency/fair-queue.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Tx } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { ExternalClientAssertion, Grant, Issue, IssuedToken, Mint } from '../../kernel/ports/grant.ts';
import type { Assertions, Signer } from '../../kernel/ports/signer.ts';
import type { RecordRefusal } from '../../kernel/refusals.ts';
import type { Inspector } from './inspect.ts';
import type { Minter } from './mint.ts';
import type { Standings } from './standing.ts';
import type { Standing } from './store.ts';

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
  /** Who we are: issuer, and audience of tokens for our own API. */
  readonly issuer: string;
  readonly assertions: Assertions;
  readonly standings: Standings;
  /** Other ways to a token than `client_credentials`, by other features; asked for once, when the routes are made. */
  readonly grants: readonly Grant[];
  /** Clients that prove themselves by somebody else's signed word instead of their own. */
  readonly outsideProofs: OutsideProofs;
  /** Whether the caller administers its own organization. */
  isAdmin(caller: Caller): Promise<boolean>;
  /**
   * Whether the plans allow these tokens, in the order asked: undefined, and then each must be recorded in the same
   * transaction; the limit that is reached; or `busy`, when that cannot be said without waiting for somebody.
   */
  checkPlans(
    tx: Tx,
    clients: readonly Standing[],
    options: { waiting: boolean },
  ): Promise<readonly (PlanLimit | 'busy' | undefined)[]>;
  countIntrospection(caller: Caller): void;
}

export interface PlanLimit {
  readonly limitType: string;
  readonly limit: number;
  readonly resetsAt: string;
  /** Which limit, and when it resets. */
  readonly description: string;
}

export interface Tokens extends Inspector {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
  /** For whoever finds out in another way who is to have a token. */
  readonly mint: Mint;
  readonly lockEligibility: Minter['lockEligibility'];
  readonly findEligibility: Minter['findEligibility'];
}

export interface OutsideProofs {
  isOutside(assertion: string): boolean;
  /** A token of the client's own. */
  redeem(proof: ExternalClientAssertion, audience: string): Promise<IssuedToken>;
  /** What another grant issues to the client: with the proof used up, or neither. */
  admit(proof: ExternalClientAssertion, issue: Issue): Promise<IssuedToken>;
}
