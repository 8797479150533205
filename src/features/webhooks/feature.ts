/**
 * Webhooks: the subscriptions of an organization, and the delivery of events to them: signed, retried, at least once. Owns
 * `webhook_subscriptions`, `webhook_outbox`, `webhook_deliveries`, `webhook_replays` and `webhook_dead_letters`. Events come from the other features through the ledger.
 * The outbound port decides which addresses may be called. docs/guides/webhooks.md has the guarantees for receivers and operators.
 */
import { isoTime } from '../../kernel/clock.ts';
import { createPace } from '../../kernel/concurrency/pace.ts';
import { createFanOut } from './delivery/fan-out.ts';
import { findOldestDue } from './delivery/lease-store.ts';
import { createOutboxListener } from './delivery/outbox.ts';
import { findOldestEvent } from './delivery/outbox-store.ts';
import { findDeadLetters } from './delivery/result-store.ts';
import { createWorker } from './delivery/worker.ts';
import type { Deliveries, DeliveryDeps, WebhookDeps, Webhooks } from './deps.ts';
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
import { createSubscriberPresence } from './subscriptions/presence.ts';
import { createWebhookService } from './subscriptions/service.ts';
import { erasePreviousSecrets } from './subscriptions/store.ts';

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

export function createWebhooks(deps: WebhookDeps): Webhooks {
  return { routes: webhookRoutes(createWebhookService(deps)) };
}
