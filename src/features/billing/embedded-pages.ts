/** The pages of the embedded provider. The token in the URL authorizes: its bearer may view the page and confirm once. */

import type { Origin } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import type { PaidTier } from '../../kernel/ports/payments.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import type { Organization } from '../organizations/schema.ts';
import { isAbove } from './event-decision.ts';
import { checkoutPage, confirmedPage, portalPage } from './pages.ts';
import type { BillingService, BillingServiceDeps } from './service.ts';
import { findSession, markSessionUsed, type StoredSession } from './sessions-store.ts';
import { findSubscription } from './store.ts';

export interface EmbeddedPages {
  checkout(token: string): Promise<string>;
  confirm(origin: Origin, token: string): Promise<string>;
  portal(token: string): Promise<string>;
}

type OpenCheckout = { session: StoredSession & { targetTier: PaidTier }; organization: Organization };

export function createEmbeddedPages(deps: BillingServiceDeps, billing: BillingService): EmbeddedPages {
  const { db, clock, organizations, embedded, orderProvider } = deps;

  /** Pages exist only while the embedded provider takes the orders: a URL from before is then not found. */
  const open = async (queryable: Queryable, kind: StoredSession['kind'], token: string) => {
    const session =
      orderProvider === 'embedded' ? await findSession(queryable, kind, hashSecret(token)) : undefined;
    if (!session) fail('BILLING_PAGE_NOT_FOUND');
    if (session.usedAt !== null) fail('BILLING_PAGE_CLOSED', { message: 'This page was used already.' });
    if (session.expiresAt <= isoTime(clock)) {
      fail('BILLING_PAGE_CLOSED', { message: `The time of this page was over at ${session.expiresAt}.` });
    }
    const organization = await organizations.describe(queryable, session.organizationId);
    if (organization?.status !== 'active') {
      fail('BILLING_PAGE_CLOSED', { message: 'The organization is suspended or deleted.' });
    }
    return { session, organization };
  };

  const openCheckout = async (queryable: Queryable, token: string): Promise<OpenCheckout> => {
    const { session, organization } = await open(queryable, 'checkout', token);
    const { targetTier } = session;
    if (targetTier === null || !isAbove(targetTier, organization.planTier)) {
      fail('BILLING_PAGE_CLOSED', {
        message: `The organization has the plan ${organization.planTier} already; there is nothing left to order here.`,
      });
    }
    if (!session.managed && (await findSubscription(queryable, session.organizationId))) {
      fail('BILLING_PAGE_CLOSED', {
        message:
          'Every page that was opened before the first payment closes with it; open a new one, which needs billing:manage.',
      });
    }
    return { session: { ...session, targetTier }, organization };
  };

  return {
    async checkout(token) {
      const { session, organization } = await openCheckout(db, token);
      const { name, planTier } = organization;
      return checkoutPage({ name, from: planTier, to: session.targetTier, expiresAt: session.expiresAt });
    },

    async confirm(origin, token) {
      const { session, organization } = await openCheckout(db, token);
      const stored = await findSubscription(db, session.organizationId);
      await billing.receiveEmbeddedEvent(origin, embedded.paidEvent(session, stored), async (tx) => {
        // Checked again under the lock: another page may have been confirmed since.
        await organizations.lockOrganization(tx, session.organizationId);
        await openCheckout(tx, token);
        if (!(await markSessionUsed(tx, session.sessionId, isoTime(clock))))
          fail('BILLING_PAGE_CLOSED', { message: 'This page was used already.' });
      });
      return confirmedPage({ name: organization.name, to: session.targetTier });
    },

    async portal(token) {
      const { organization } = await open(db, 'portal', token);
      const stored = await findSubscription(db, organization.organizationId);
      return portalPage(organization.name, billing.toSubscription(organization, stored));
    },
  };
}
