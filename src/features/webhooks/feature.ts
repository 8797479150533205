/**
 * Webhooks: the subscriptions of an organization, and the delivery of events to them: signed, retried, at least once. Owns
 * `webhook_subscriptions`, `webhook_outbox`, `webhook_deliveries`, `webhook_replays` and `webhook_dead_letters`. Events come from the other features through the ledger.
 * The outbound port decides which addresses may be called. docs/guides/webhooks.md has the guarantees for receivers and operators.
 */

import { isoTime } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import { createPace, type ServedRequests } from '../../kernel/concurrency/pace.ts';
import type { Vault } from '../../kernel/data/vault.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { Outbound } from '../../kernel/ports/outbound.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { OrganizationService } from '../organizations/service.ts';
import { createFanOut } from './delivery/fan-out.ts';
import { findOldestDue } from './delivery/lease-store.ts';
import { createOutboxListener } from './delivery/outbox.ts';
import { findOldestEvent } from './delivery/outbox-store.ts';
import { findDeadLetters } from './delivery/result-store.ts';
import { createWorker } from './delivery/worker.ts';
import {
  createDeliveryLoop,
  createFanOutLoop,
  createPurgeLoop,
  createReplayLoop,
  createSecretsLoop,
  purgeDeliveries,
} from './loops.ts';
import { runReplays } from './replays/run-replays.ts';
import { webhookRoutes } from './routes.ts';
import { createSubscriberPresence, type SubscriberPresence } from './subscriptions/presence.ts';
import { createWebhookService } from './subscriptions/service.ts';
import { erasePreviousSecrets } from './subscriptions/store.ts';

interface DeliverySettings {
  /** When false, no deliveries are written and nothing is sent. */
  readonly enabled: boolean;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  /** Concurrent sends to one subscription, in one process. */
  readonly concurrency: number;
  /** Whether the beginning of each response is stored, and shown to the organization that chose the receiver. */
  readonly keepResponses: boolean;
}

export interface DeliveryDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'log' | 'metrics'> {
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

export interface WebhookDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger'> {
  readonly vault: Vault;
  readonly presence: SubscriberPresence;
  readonly enabled: boolean;
  /** How long a replaced secret signs too, unless the rotation says otherwise. */
  readonly secretOverlapSeconds: number;
  readonly lockOrganization: OrganizationService['lockOrganization'];
  readonly catchUp: Deliveries['catchUp'];
}

/** Separate from the routes: the ledger needs the listener before any feature can record an event. */
export function createDeliveries(deps: DeliveryDeps): Deliveries {
  deps.metrics.countFromQuery('service_webhook_dead_letters_total', async () =>
    (await findDeadLetters(deps.db)).map(({ eventType, count }) => ({
      labels: { event_type: eventType },
      value: count,
    })),
  );
  // Switched off, deliveries stay due, and this is no delay.
  if (deps.settings.enabled)
    deps.metrics.gaugeFromQuery('service_webhook_oldest_due_seconds', async () =>
      Math.max(
        await findOldestDue(deps.db, deps.clock.now()),
        await findOldestEvent(deps.db, deps.clock.now()),
      ),
    );
  const pace = createPace(deps);
  const worker = createWorker(deps, pace);
  const presence = createSubscriberPresence(deps);
  const fanOut = createFanOut({ ...deps, pace });
  return {
    listener: createOutboxListener(deps.settings.enabled, presence, fanOut),
    presence,
    loops: [
      ...(deps.settings.enabled
        ? [createFanOutLoop(fanOut), createDeliveryLoop(deps, worker), createReplayLoop(deps)]
        : []),
      createPurgeLoop(deps),
      createSecretsLoop(deps),
    ],
    fanOut: fanOut.drain,
    catchUp: fanOut.catchUp,
    async drain() {
      await fanOut.drain();
      let replayed: number;
      do {
        replayed = await runReplays(deps);
        await worker.drain();
      } while (replayed > 0);
    },
    async purge() {
      await purgeDeliveries(deps);
      await erasePreviousSecrets(deps.db, isoTime(deps.clock));
    },
  };
}

export function createWebhooks(deps: WebhookDeps) {
  return { routes: webhookRoutes(createWebhookService(deps)) };
}
