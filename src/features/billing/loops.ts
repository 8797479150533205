import { nobody } from '../../kernel/ids.ts';
import type { Loop } from '../../kernel/loops.ts';
import type { BillingParts, BillingService } from './service.ts';
import { deleteOldSessions } from './sessions-store.ts';
import { deleteOldEvents, listRunning } from './store.ts';

const hourMs = 3_600_000;
/** A provider can send an event again for a month; what comes later still is late anyway. */
const eventsKeptMs = 90 * 24 * hourMs;
const sessionsKeptMs = 7 * 24 * hourMs;
const batch = 500;

const byItself = { requestId: 'billing-orphans', ipAddress: '127.0.0.1', userAgent: 'countersign worker' };

export const billingLoops = (parts: BillingParts, service: BillingService): Loop[] => [
  {
    name: 'billing-forget',
    everyMs: hourMs,
    async run() {
      const { db, clock } = parts;
      const before = (ms: number) => new Date(clock.now() - ms).toISOString();
      await deleteOldEvents(db, before(eventsKeptMs));
      await deleteOldSessions(db, before(sessionsKeptMs));
    },
  },
  ...(parts.stripe ? [createOrphanLoop(parts, service)] : []),
];

/** Whoever deletes an organization does not think of its subscription, and it would be charged for ever. */
const createOrphanLoop = ({ db, log, organizations }: BillingParts, service: BillingService): Loop => ({
  name: 'billing-orphans',
  everyMs: hourMs,
  async run(signal) {
    let after = nobody;
    while (!signal.aborted) {
      const running = await listRunning(db, 'stripe', { after, limit: batch });
      const deleted = await organizations.deletedAmong(
        db,
        running.map(({ organizationId }) => organizationId),
      );
      for (const orphan of running.filter(({ organizationId }) => deleted.includes(organizationId))) {
        const { organizationId, subscriptionId } = orphan;
        if (!(await service.endAtStripe({ ...byItself, agentId: nobody }, orphan)))
          log.warn(
            { organizationId, subscriptionId },
            'Stripe does not know the subscription of a deleted organization',
          );
      }
      const last = running.at(-1);
      if (running.length < batch || !last) return;
      after = last.organizationId;
    }
  },
});
