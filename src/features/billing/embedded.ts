/**
 * The embedded payment provider: it takes no money. A page of ours replaces the payment, and its confirmation is processed as a signed
 * event of Stripe's form. A subscription renews until it is canceled.
 */
import { createHmac } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { PaidTier, PaymentPage } from '../../kernel/ports/payments.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import type { StoredSession } from './sessions-store.ts';
import type { StoredSubscription } from './store.ts';

export const embeddedPrices: Readonly<Record<PaidTier, string>> = {
  pro: 'embedded_pro',
  enterprise: 'embedded_enterprise',
};

const pageMs = 30 * 60_000;
const periodMs = 30 * 24 * 3_600_000;

/** Derived from the instance's key, so that every process has the same secret and none is stored. */
export const embeddedSecret = (seal: (text: string) => string): string =>
  `whsec_${seal('countersign billing, events of the embedded provider')}`;

export interface SignedEvent {
  readonly body: Buffer;
  readonly signature: string;
}

export interface EmbeddedProvider {
  /** A page at an unguessable URL; only the hash of its token is stored. */
  createPage(kind: StoredSession['kind']): PaymentPage;
  /** The event of a confirmed order. */
  paidEvent(
    session: StoredSession & { targetTier: PaidTier },
    stored: StoredSubscription | undefined,
  ): SignedEvent;
  canceledEvent(stored: StoredSubscription): SignedEvent;
}

export function createEmbeddedProvider(deps: {
  secret: string;
  baseUrl: string;
  clock: Clock;
  ids: Ids;
}): EmbeddedProvider {
  const { secret, baseUrl, clock, ids } = deps;

  const sign = (event: object): SignedEvent => {
    const text = JSON.stringify(event);
    const seconds = Math.floor(clock.now() / 1000);
    const mac = createHmac('sha256', secret).update(`${seconds}.${text}`).digest('hex');
    return { body: Buffer.from(text), signature: `t=${seconds},v1=${mac}` };
  };

  /** Later than the stored state, even when another process's clock is ahead. */
  const timeAfter = (stored: StoredSubscription | undefined): number =>
    Math.max(clock.now(), stored ? Date.parse(stored.asOf) + 1 : 0);

  return {
    createPage(kind) {
      const token = ids.secret('bs_');
      return {
        sessionId: ids.uuid(),
        url: `${baseUrl}/billing/${kind}/${token}`,
        expiresAt: new Date(clock.now() + pageMs).toISOString(),
        tokenHash: hashSecret(token),
      };
    },

    paidEvent(session, stored) {
      const now = timeAfter(stored);
      const current = stored?.provider === 'embedded' && stored.status !== 'canceled' ? stored : undefined;
      const { organizationId, agentId, targetTier } = session;
      return sign({
        // One id for each session, so that it is processed once.
        id: `evt_${session.sessionId}`,
        object: 'event',
        type: current ? 'customer.subscription.updated' : 'customer.subscription.created',
        created: now / 1000,
        data: {
          object: {
            id: current?.subscriptionId ?? `sub_${session.sessionId}`,
            object: 'subscription',
            customer: `cus_${organizationId}`,
            status: 'active',
            created: (current ? Date.parse(current.subscribedAt) : now) / 1000,
            cancel_at_period_end: false,
            metadata: { organization_id: organizationId, agent_id: agentId },
            items: {
              data: [
                { price: { id: embeddedPrices[targetTier] }, current_period_end: (now + periodMs) / 1000 },
              ],
            },
          },
        },
      });
    },

    canceledEvent(stored) {
      const now = timeAfter(stored);
      return sign({
        id: `evt_${ids.uuid()}`,
        object: 'event',
        type: 'customer.subscription.deleted',
        created: now / 1000,
        data: {
          object: {
            id: stored.subscriptionId,
            object: 'subscription',
            customer: stored.customerId,
            status: 'canceled',
            created: Date.parse(stored.subscribedAt) / 1000,
            cancel_at_period_end: false,
            metadata: { organization_id: stored.organizationId },
            items: { data: [{ price: { id: embeddedPrices[stored.tier] }, current_period_end: now / 1000 }] },
          },
        },
      });
    },
  };
}

/** The end of the current period: periods follow each other without gaps since the first. */
export function renewedPeriodEnd(periodEnd: string, now: number): string {
  const end = Date.parse(periodEnd);
  if (end > now) return periodEnd;
  return new Date(end + Math.ceil((now - end + 1) / periodMs) * periodMs).toISOString();
}
