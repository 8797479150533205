import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Tx } from '../../kernel/data/db.ts';
import type { Vault } from '../../kernel/data/vault.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Outbound } from '../../kernel/ports/outbound.ts';
import type { Company } from './company.ts';

export interface DeliverySettings {
  /** Otherwise nothing is put down to be delivered, and nothing is sent. */
  readonly enabled: boolean;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  /** Sends under way at once to one subscription, in one process. */
  readonly concurrency: number;
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
  pause(milliseconds: number): Promise<void>;
  /** Milliseconds of a clock that nobody sets. */
  elapsed(): number;
  /** What is metered: a delivery about this agent was accepted by its receiver. */
  countDelivery(organizationId: string, agentId: string): void;
}

export interface Deliveries {
  readonly listener: LedgerListener;
  readonly loops: readonly Loop[];
  readonly company: Company;
  /** Sends all that is due now, and waits for it. */
  drain(): Promise<void>;
  /** Takes away what is past its time. */
  sweep(): Promise<void>;
}

export interface WebhookDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly vault: Vault;
  readonly company: Company;
  readonly enabled: boolean;
  /**
   * Kept from changing until the transaction ends, so that of many who want the last place one gets it; undefined when it is
   * deleted or unknown.
   */
  lockOrganization(tx: Tx, organizationId: string): Promise<{ status: string } | undefined>;
}

export interface Webhooks {
  readonly routes: readonly RouteEntry[];
}
