import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { FairQueue } from '../../kernel/concurrency/fair-queue.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { ExternalTokens } from '../../kernel/ports/external-tokens.ts';
import type { Mint } from '../../kernel/ports/grant.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import type { RecordRefusal } from '../../kernel/refusals.ts';
import type { Exchange } from './exchange/exchange.ts';

export interface Holder {
  readonly agentId: string;
  readonly organizationId: string;
  readonly status: 'active' | 'suspended' | 'decommissioned';
  readonly allowedScopes: readonly string[];
}

export interface TokenEligibility {
  readonly organizationId: string;
  readonly problem?: string;
}

export interface OidcDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly recordRefusal: RecordRefusal;
  /** For transactions that exchange a token: limits how many wait for locks, per organization and in all. */
  readonly exchangeQueue: FairQueue;
  readonly metrics: Metrics;
  readonly signer: Pick<Signer, 'sign'>;
  readonly outside: ExternalTokens;
  /** Who we are: our own tokens are nobody else's. */
  readonly issuer: string;
  /** Organizations are strangers to each other: an exchange must name its agent. */
  readonly multiTenant: boolean;
  /** Whether issuers may be reached by plain http: inside the operator's own network. */
  readonly allowHttp: boolean;
  readonly mint: Mint;
  /** The agent for a change of what is its own, kept as it stands until the transaction ends; AGENT_NOT_FOUND, FORBIDDEN. */
  lockAgent(tx: Tx, caller: Caller, agentId: string): Promise<Holder>;
  /** FORBIDDEN unless the caller holds all that the agent holds: whoever says who may become it can become it. */
  refuseImpersonation(tx: Tx, caller: Caller, agent: Holder): Promise<void>;
  /** Told of every exchange, once it is durable. */
  countExchange(agent: { organizationId: string; agentId: string }): void;
  /** Whose the agent is, and why it can have no token now, if so; undefined when there is none. Kept so until the end. */
  lockEligibility(tx: Tx, agentId: string): Promise<TokenEligibility | undefined>;
  /** The same as it is at the moment: holds nothing and waits for nobody. */
  findEligibility(db: Queryable, agentId: string): Promise<TokenEligibility | undefined>;
}

export interface Oidc {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
  readonly exchange: Exchange;
}
