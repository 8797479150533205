/**
 * Webhooks: who in an organization wants to be told of what, and telling them: signed, retried, at least once. Owns
 * `webhook_subscriptions`, `webhook_deliveries` and `webhook_dead_letters`. What happened is said by the other features through the ledger; how
 * somebody else's server is reached safely is the outbound port's affair. docs/guides/webhooks.md says what
 * receivers and operators can rely on.
 */
import { createAnnouncer } from './announcer.ts';
import { createCompany } from './company.ts';
import { announce } from './deliveries-store.ts';
import type { Deliveries, DeliveryDeps, WebhookDeps, Webhooks } from './deps.ts';
import { createDeliveryLoop, createSweepLoop, sweep } from './loops.ts';
import { createOutbox } from './outbox.ts';
import { createPace } from './pace.ts';
import { findDeadLetters } from './queue-store.ts';
import { webhookRoutes } from './routes.ts';
import { createWebhookService } from './service.ts';
import { createWorker } from './worker.ts';

export { envelopeOf } from './envelope.ts';

const announcementsApartMs = 50;

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

export function createWebhooks(deps: WebhookDeps): Webhooks {
  return { routes: webhookRoutes(createWebhookService(deps)) };
}
