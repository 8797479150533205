/**
 * The provider for where there is none: a page of ours takes the place of the payment, and what it says goes through the
 * same signed events as Stripe's. It takes no money and runs by itself; a subscription is renewed until it is ended.
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

/** From the instance's key, so that every process has the same and nobody has to keep it. */
export const embeddedSecret = (seal: (text: string) => string): string =>
  `whsec_${seal('countersign billing, events of the embedded provider')}`;

export interface SignedBody {
  readonly body: Buffer;
  readonly signature: string;
}

export interface Embedded {
  /** A page behind an address that nobody can guess; only the hash of it is kept. */
  page(kind: StoredSession['kind']): PaymentPage;
  /** What is to be said once somebody has confirmed the order. */
  paid(session: StoredSession & { targetTier: PaidTier }, known: StoredSubscription | undefined): SignedBody;
  ended(known: StoredSubscription): SignedBody;
}

export function createEmbedded(deps: { secret: string; baseUrl: string; clock: Clock; ids: Ids }): Embedded {
  const { secret, baseUrl, clock, ids } = deps;

  const sign = (event: object): SignedBody => {
    const text = JSON.stringify(event);
    const seconds = Math.floor(clock.now() / 1000);
    const mac = createHmac('sha256', secret).update(`${seconds}.${text}`).digest('hex');
    return { body: Buffer.from(text), signature: `t=${seconds},v1=${mac}` };
  };

  /** Later than what is known, even when another node's clock is ahead of ours. */
  const after = (known: StoredSubscription | undefined): number =>
    Math.max(clock.now(), known ? Date.parse(known.asOf) + 1 : 0);

  return {
    page(kind) {
      const token = ids.secret('bs_');
      return {
        sessionId: ids.uuid(),
        url: `${baseUrl}/billing/${kind}/${token}`,
        expiresAt: new Date(clock.now() + pageMs).toISOString(),
        tokenHash: hashSecret(token),
      };
    },

    paid(session, known) {
      const now = after(known);
      const lives = known?.provider === 'embedded' && known.status !== 'canceled' ? known : undefined;
      const { organizationId, agentId, targetTier } = session;
      return sign({
        // One for each session, so that it cannot be told twice.
        id: `evt_${session.sessionId}`,
        object: 'event',
        type: lives ? 'customer.subscription.updated' : 'customer.subscription.created',
        created: now / 1000,
        data: {
          object: {
            id: lives?.subscriptionId ?? `sub_${session.sessionId}`,
            object: 'subscription',
            customer: `cus_${organizationId}`,
            status: 'active',
            created: (lives ? Date.parse(lives.subscribedAt) : now) / 1000,
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

    ended(known) {
      const now = after(known);
      return sign({
        id: `evt_${ids.uuid()}`,
        object: 'event',
        type: 'customer.subscription.deleted',
        created: now / 1000,
        data: {
          object: {
            id: known.subscriptionId,
            object: 'subscription',
            customer: known.customerId,
            status: 'canceled',
            created: Date.parse(known.subscribedAt) / 1000,
            cancel_at_period_end: false,
            metadata: { organization_id: known.organizationId },
            items: { data: [{ price: { id: embeddedPrices[known.tier] }, current_period_end: now / 1000 }] },
          },
        },
      });
    },
  };
}

/** The end of the period that is running now: one after the other since the first. */
export function renewed(periodEnd: string, now: number): string {
  const end = Date.parse(periodEnd);
  if (end > now) return periodEnd;
  return new Date(end + Math.ceil((now - end + 1) / periodMs) * periodMs).toISOString();
}
