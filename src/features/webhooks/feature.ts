/**
 * Webhooks: who in an organization wants to be told of what, and telling them: signed, retried, at least once. Owns
 * `webhook_subscriptions`, `webhook_deliveries` and `webhook_dead_letters`. What happened is said by the other features through the ledger; how
 * somebody else's server is reached safely is the outbound port's affair. docs/webhooks.md says what
 * receivers and operators can rely on.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Tx } from '../../kernel/data/db.ts';
import type { Vault } from '../../kernel/data/vault.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger, LedgerListener } from '../../kernel/ledger.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Outbound } from '../../kernel/ports/outbound.ts';
import { createAnnouncer } from './announcer.ts';
import { type Company, createCompany } from './company.ts';
import { announce } from './deliveries-store.ts';
import { createDeliveryLoop, createSweepLoop, sweep } from './loops.ts';
import { createOutbox } from './outbox.ts';
import { createPace } from './pace.ts';
import { findDeadLetters } from './queue-store.ts';
import { webhookRoutes } from './routes.ts';
import { createWebhookService } from './service.ts';
import { createWorker } from './worker.ts';

const announcementsApartMs = 50;

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

/** Apart from the routes, because the ledger must know the listener before anything can be recorded. */
export function createDeliveries(deps: DeliveryDeps): Deliveries {
  deps.metrics.countFromQuery('service_webhook_dead_letters_total', async () =>
    (await findDeadLetters(deps.db)).map(({ eventType, count }) => ({
      labels: { event_type: eventType },
      value: count,
    })),
  );
  const worker = createWorker(deps);
  const company = createCompany(deps);
  const announceSoon = createAnnouncer({
    log: deps.log,
    announce: (news) => announce(deps.db, news),
    turn: createPace(deps, announcementsApartMs),
  });
  return {
    listener: createOutbox(deps.settings.enabled, company, announceSoon),
    company,
    loops: deps.settings.enabled
      ? [createDeliveryLoop(deps, worker), createSweepLoop(deps)]
      : [createSweepLoop(deps)],
    drain: worker.drain,
    sweep: () => sweep(deps),
  };
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
  holdOrganization(tx: Tx, organizationId: string): Promise<{ status: string } | undefined>;
}

export interface Webhooks {
  readonly routes: readonly RouteEntry[];
}

export function createWebhooks(deps: WebhookDeps): Webhooks {
  return { routes: webhookRoutes(createWebhookService(deps)) };
}
