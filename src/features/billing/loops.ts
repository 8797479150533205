import { isoTime } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import { deleteInChunks } from '../../kernel/data/delete-in-chunks.ts';
import { nilUuid } from '../../kernel/ids.ts';
import type { BillingService, BillingServiceDeps } from './service.ts';
import { deleteOldSessions } from './sessions-store.ts';
import {
  deleteOldEvents,
  findSubscription,
  listRenewing,
  type StoredSubscription,
  saveSubscription,
} from './store.ts';

const hourMs = 3_600_000;
/** A provider can repeat an event for a month. A later repeat is recognized as late by its time. */
const eventRetentionMs = 90 * 24 * hourMs;
const sessionRetentionMs = 7 * 24 * hourMs;
const batch = 500;

const systemActor = {
  requestId: 'billing-orphans',
  ipAddress: '127.0.0.1',
  userAgent: 'countersign worker',
  agentId: nilUuid,
};

export const billingLoops = (deps: BillingServiceDeps, service: BillingService): Loop[] => [
  {
    name: 'billing-purge',
    everyMs: hourMs,
    purges: true,
    async run(signal) {
      const { db, clock } = deps;
      const before = (ms: number) => new Date(clock.now() - ms).toISOString();
      await deleteInChunks(signal, (limit) => deleteOldEvents(db, before(eventRetentionMs), limit));
      await deleteInChunks(signal, (limit) => deleteOldSessions(db, before(sessionRetentionMs), limit));
    },
  },
  ...(deps.stripe ? [createOrphanLoop(deps, service)] : []),
];

/** Cancels the subscriptions of deleted organizations, which would otherwise be charged for ever. */
const createOrphanLoop = (deps: BillingServiceDeps, service: BillingService): Loop => ({
  name: 'billing-orphans',
  everyMs: hourMs,
  async run(signal) {
    const { db, log, organizations } = deps;
    let after = nilUuid;
    while (!signal.aborted) {
      const renewing = await listRenewing(db, 'stripe', { after, limit: batch });
      const deleted = await organizations.deletedAmong(
        db,
        renewing.map(({ organizationId }) => organizationId),
      );
      for (const orphan of renewing.filter(({ organizationId }) => deleted.includes(organizationId))) {
        if (signal.aborted) return;
        const { organizationId, subscriptionId } = orphan;
        const fields = { organizationId, subscriptionId };
        try {
          if (await service.cancelAtStripe(systemActor, orphan)) continue;
          log.warn(fields, 'subscription of a deleted organization is unknown to Stripe; marked as canceled');
          await cancelUnknown(deps, orphan);
        } catch (error) {
          log.error(
            { ...fields, err: error },
            'subscription of a deleted organization not canceled; retried in an hour',
          );
        }
      }
      const last = renewing.at(-1);
      if (renewing.length < batch || !last) return;
      after = last.organizationId;
    }
  },
});

/** Stripe does not know the subscription, so no event will report its end. */
const cancelUnknown = (
  { db, clock, ledger, organizations }: BillingServiceDeps,
  { organizationId, subscriptionId }: StoredSubscription,
) =>
  db.transaction(async (tx) => {
    await organizations.lockOrganization(tx, organizationId);
    const stored = await findSubscription(tx, organizationId);
    if (stored?.subscriptionId !== subscriptionId || stored.status === 'canceled') return;
    const status = 'canceled';
    await saveSubscription(tx, { ...stored, status, grantedTier: null, updatedAt: isoTime(clock) });
    const metadata = { provider: stored.provider, subscriptionId, status };
    const subject = { organizationId, agentId: nilUuid, metadata };
    await ledger.record(tx, systemActor, 'billing.subscription_updated', subject);
  });
