import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { ServedRequests } from '../../kernel/concurrency/pace.ts';
import type { Db, Tx } from '../../kernel/data/db.ts';
import type { Vault } from '../../kernel/data/vault.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Outbound } from '../../kernel/ports/outbound.ts';

export interface DeliverySettings {
  /** When false, no deliveries are written and nothing is sent. */
  readonly enabled: boolean;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  /** Concurrent sends to one subscription, in one process. */
  readonly concurrency: number;
  /** Whether the beginning of each response is stored, and shown to the organization that chose the receiver. */
  readonly keepResponses: boolean;
}

export interface DeliveryDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly outbound: Outbound;
  readonly vault: Vault;
  readonly settings: DeliverySettings;
  /** Sends leave most of the time to them. */
  readonly requests: ServedRequests;
  pause(milliseconds: number): Promise<void>;
  /** Milliseconds of a monotonic clock. */
  elapsed(): number;
  /** Usage: an endpoint has accepted a delivery about this agent. */
  countDelivery(organizationId: string, agentId: string): void;
}

export interface Deliveries {
  readonly listener: LedgerListener;
  readonly loops: readonly Loop[];
  readonly presence: SubscriberPresence;
  /** Makes the deliveries of all committed events, without sending them. */
  fanOut(): Promise<void>;
  /** Makes the deliveries of the organization's committed events, unless its backlog is long. */
  catchUp(organizationId: string): Promise<void>;
  /** The same, and walks the requested replays, sends all deliveries that are due now, and waits for the results. */
  drain(): Promise<void>;
  /** Deletes expired deliveries and erases expired secrets. */
  purge(): Promise<void>;
}

export interface SubscriberPresence {
  /** True only when a recent read found no active subscription. Never waits. */
  isKnownAbsent(): boolean;
  /**
   * Called in the transaction that adds or activates a subscription. Returns a wait for after the commit: it ends when every
   * process knows that a subscription exists. Where an older subscription exists, that is locked until the commit, and there is
   * no wait.
   */
  prepareActivation(tx: Tx, now: number): Promise<() => Promise<void>>;
}

export interface WebhookDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly vault: Vault;
  readonly presence: SubscriberPresence;
  readonly enabled: boolean;
  /** How long a replaced secret signs too, unless the rotation says otherwise. */
  readonly secretOverlapSeconds: number;
  /**
   * Locks the organization until the transaction ends, so that concurrent requests cannot exceed its limit of subscriptions.
   * Undefined when it is deleted or unknown.
   */
  lockOrganization(tx: Tx, organizationId: string): Promise<{ status: string } | undefined>;
  /** Makes the deliveries of committed events before they are listed: a caller sees those of its own changes. */
  catchUp(organizationId: string): Promise<void>;
}

export interface Webhooks {
  readonly routes: readonly RouteEntry[];
}
