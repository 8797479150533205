/** What stands behind the embedded provider's pages: whoever has the address may look, and confirm once. */
import type { Origin } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import type { PaidTier } from '../../kernel/ports/payments.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import type { Described } from './deps.ts';
import { checkoutPage, confirmedPage, portalPage } from './pages.ts';
import type { BillingParts, BillingService } from './service.ts';
import { findSession, type StoredSession, useSession } from './sessions-store.ts';
import { findSubscription } from './store.ts';
import { isAbove } from './verdict.ts';

export interface PageService {
  checkout(token: string): Promise<string>;
  confirm(origin: Origin, token: string): Promise<string>;
  portal(token: string): Promise<string>;
}

type OpenCheckout = { session: StoredSession & { targetTier: PaidTier }; described: Described };

export function createPageService(parts: BillingParts, billing: BillingService): PageService {
  const { db, clock, organizations, embedded, takesOrders } = parts;

  /** Gone with the provider: where Stripe takes the payments, or nobody may, an address from before is worth nothing. */
  const open = async (queryable: Queryable, kind: StoredSession['kind'], token: string) => {
    const session =
      takesOrders === 'embedded' ? await findSession(queryable, kind, hashSecret(token)) : undefined;
    if (!session) fail('BILLING_PAGE_NOT_FOUND');
    if (session.usedAt !== null) fail('BILLING_PAGE_CLOSED', { message: 'This page was used already.' });
    if (session.expiresAt <= isoTime(clock)) {
      fail('BILLING_PAGE_CLOSED', { message: `The time of this page was over at ${session.expiresAt}.` });
    }
    const described = await organizations.describe(queryable, session.organizationId);
    if (described?.status !== 'active') {
      fail('BILLING_PAGE_CLOSED', { message: 'The organization is suspended or deleted.' });
    }
    return { session, described };
  };

  const openCheckout = async (queryable: Queryable, token: string): Promise<OpenCheckout> => {
    const { session, described } = await open(queryable, 'checkout', token);
    const { targetTier } = session;
    if (targetTier === null || !isAbove(targetTier, described.planTier)) {
      fail('BILLING_PAGE_CLOSED', {
        message: `The organization has the plan ${described.planTier} already; there is nothing left to order here.`,
      });
    }
    if (!session.managed && (await findSubscription(queryable, session.organizationId))) {
      fail('BILLING_PAGE_CLOSED', {
        message:
          'Every page that was opened before the first payment closes with it; open a new one, which needs billing:manage.',
      });
    }
    return { session: { ...session, targetTier }, described };
  };

  return {
    async checkout(token) {
      const { session, described } = await openCheckout(db, token);
      const { name, planTier } = described;
      return checkoutPage({ name, from: planTier, to: session.targetTier, expiresAt: session.expiresAt });
    },

    async confirm(origin, token) {
      const { session, described } = await openCheckout(db, token);
      const known = await findSubscription(db, session.organizationId);
      await billing.receiveEmbedded(origin, embedded.paid(session, known), async (tx) => {
        // Looked at once more, now that the plan cannot change: another page may have been confirmed meanwhile.
        await organizations.lockPlan(tx, session.organizationId);
        await openCheckout(tx, token);
        if (!(await useSession(tx, session.sessionId, isoTime(clock))))
          fail('BILLING_PAGE_CLOSED', { message: 'This page was used already.' });
      });
      return confirmedPage({ name: described.name, to: session.targetTier });
    },

    async portal(token) {
      const { described } = await open(db, 'portal', token);
      const known = await findSubscription(db, described.organizationId);
      return portalPage(described.name, billing.show(described, known));
    },
  };
}
