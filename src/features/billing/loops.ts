import { isoTime } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import { deleteInChunks } from '../../kernel/data/delete-in-chunks.ts';
import { nilUuid } from '../../kernel/ids.ts';
import type { BillingParts, BillingService } from './service.ts';
import { deleteOldSessions } from './sessions-store.ts';
import {
  deleteOldEvents,
  findSubscription,
  listRunning,
  type StoredSubscription,
  saveSubscription,
} from './store.ts';

const hourMs = 3_600_000;
/** A provider can send an event again for a month; what comes later still is late anyway. */
const eventsKeptMs = 90 * 24 * hourMs;
const sessionsKeptMs = 7 * 24 * hourMs;
const batch = 500;

const byItself = {
  requestId: 'billing-orphans',
  ipAddress: '127.0.0.1',
  userAgent: 'countersign worker',
  agentId: nilUuid,
};

export const billingLoops = (parts: BillingParts, service: BillingService): Loop[] => [
  {
    name: 'billing-forget',
    everyMs: hourMs,
    purges: true,
    async run(signal) {
      const { db, clock } = parts;
      const before = (ms: number) => new Date(clock.now() - ms).toISOString();
      await deleteInChunks(signal, (atMost) => deleteOldEvents(db, before(eventsKeptMs), atMost));
      await deleteInChunks(signal, (atMost) => deleteOldSessions(db, before(sessionsKeptMs), atMost));
    },
  },
  ...(parts.stripe ? [createOrphanLoop(parts, service)] : []),
];

/** Whoever deletes an organization does not think of its subscription, and it would be charged for ever. */
const createOrphanLoop = (parts: BillingParts, service: BillingService): Loop => ({
  name: 'billing-orphans',
  everyMs: hourMs,
  async run(signal) {
    const { db, log, organizations } = parts;
    let after = nilUuid;
    while (!signal.aborted) {
      const running = await listRunning(db, 'stripe', { after, limit: batch });
      const deleted = await organizations.deletedAmong(
        db,
        running.map(({ organizationId }) => organizationId),
      );
      for (const orphan of running.filter(({ organizationId }) => deleted.includes(organizationId))) {
        if (signal.aborted) return;
        const { organizationId, subscriptionId } = orphan;
        const about = { organizationId, subscriptionId };
        try {
          if (await service.endAtStripe(byItself, orphan)) continue;
          log.warn(about, 'Stripe does not know the subscription of a deleted organization');
          await endUnknown(parts, orphan);
        } catch (error) {
          log.error(
            { ...about, err: error },
            'the subscription of a deleted organization could not be ended; it is tried again',
          );
        }
      }
      const last = running.at(-1);
      if (running.length < batch || !last) return;
      after = last.organizationId;
    }
  },
});

/** Nothing will ever tell of its end. */
const endUnknown = (
  { db, clock, ledger, organizations }: BillingParts,
  { organizationId, subscriptionId }: StoredSubscription,
) =>
  db.transaction(async (tx) => {
    await organizations.lockPlan(tx, organizationId);
    const known = await findSubscription(tx, organizationId);
    if (known?.subscriptionId !== subscriptionId || known.status === 'canceled') return;
    const status = 'canceled';
    await saveSubscription(tx, { ...known, status, grantedTier: null, updatedAt: isoTime(clock) });
    const metadata = { provider: known.provider, subscriptionId, status };
    const subject = { organizationId, agentId: nilUuid, metadata };
    await ledger.record(tx, byItself, 'billing.subscription_updated', subject);
  });
