import type { Caller, Delegation } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Tx } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Grant, Mint } from '../../kernel/ports/grant.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import type { LinkPart } from './store.ts';

export interface Party {
  readonly agentId: string;
  readonly organizationId: string;
  readonly status: string;
  readonly allowedScopes: readonly string[];
}

export interface DelegationDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly metrics: Metrics;
  readonly signer: Signer;
  readonly issuer: string;
  readonly mint: Mint;
  /** The agents as they stand, by id; those that do not exist are left out. */
  findAgents(agentIds: readonly string[]): Promise<ReadonlyMap<string, Party>>;
  /** The same, kept from changing until the transaction ends. */
  lockAgents(tx: Tx, agentIds: readonly string[]): Promise<ReadonlyMap<string, Party>>;
  organizationStatusOf(organizationId: string): Promise<string | undefined>;
  /** Whether the caller administers its own organization. */
  isAdmin(caller: Caller): Promise<boolean>;
  /** What an access token is worth now, if it is a live one of ours or ended with its chain. */
  inspect(token: string): Promise<{ scopes: readonly string[]; delegation?: Delegation } | undefined>;
  /** Told after each commit, for the record of usage. */
  count(
    metric: 'delegations_created' | 'token_exchanges',
    who: { organizationId: string; agentId: string },
  ): void;
}

export interface Delegations {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
  readonly grant: Grant;
  /** How links stand, in the order asked; those that are not there are left out. */
  findParts(chainIds: readonly string[]): Promise<LinkPart[]>;
}
