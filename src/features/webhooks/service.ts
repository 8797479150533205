import { isDeepStrictEqual } from 'node:util';
import { testEvent } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { type Caller, refuseBorrowedScope, tenantOf } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { insertDelivery, listDeliveries, replayDelivery } from './deliveries-store.ts';
import type { WebhookDeps } from './deps.ts';
import type {
  Delivery,
  DeliveryPage,
  DeliveryQuery,
  NewSubscription,
  Subscription,
  SubscriptionChange,
  SubscriptionWithSecret,
} from './schema.ts';
import { signingPrefix } from './sign.ts';
import {
  countSubscriptions,
  deleteSubscription,
  findSubscription,
  insertSubscription,
  listSubscriptions,
  lockSubscription,
  replaceSecret,
  updateSubscription,
} from './store.ts';
import { deleteDeliveries } from './sweep-store.ts';
import { refuseBadTarget } from './target.ts';

export interface WebhookService {
  create(caller: Caller, wanted: NewSubscription): Promise<SubscriptionWithSecret>;
  /** Of the caller's own organization, the operator's too. */
  list(caller: Caller): Promise<Subscription[]>;
  get(caller: Caller, id: string): Promise<Subscription>;
  update(caller: Caller, id: string, change: SubscriptionChange): Promise<Subscription>;
  remove(caller: Caller, id: string): Promise<void>;
  deliveries(caller: Caller, id: string, query: DeliveryQuery): Promise<DeliveryPage>;
  rotateSecret(caller: Caller, id: string): Promise<SubscriptionWithSecret>;
  test(caller: Caller, id: string): Promise<Delivery>;
  replay(caller: Caller, id: string, deliveryId: string): Promise<Delivery>;
}

/** They decide who receives which events, also after a delegation has ended. */
const lastingFields: ReadonlySet<keyof SubscriptionChange> = new Set(['url', 'events']);

const refuseBorrowedWrite = (caller: Caller): void =>
  refuseBorrowedScope(
    caller,
    'webhooks:write',
    'A delegated token can rotate the secret of a subscription, or change its url or events, only if your own agent may hold webhooks:write.',
  );

/** What goes with the request itself; the rest of a long history is swept up later. */
const sweptAtOnce = 10_000;

export function createWebhookService(deps: WebhookDeps): WebhookService {
  const { db, clock, ids, ledger, vault, company, enabled, lockOrganization } = deps;

  const record = (
    tx: Tx,
    caller: Caller,
    event: 'created' | 'updated' | 'deleted' | 'secret_rotated' | 'tested' | 'replayed',
    { id, organization_id }: Subscription,
    more: Record<string, unknown> = {},
  ) =>
    ledger.record(tx, caller, `webhook.${event}`, {
      organizationId: organization_id,
      agentId: caller.agentId,
      metadata: { webhookId: id, ...more },
    });

  const found = async (queryable: Queryable, caller: Caller, id: string): Promise<Subscription> =>
    (await findSubscription(queryable, tenantOf(caller), id)) ?? fail('WEBHOOK_NOT_FOUND');

  const locked = async (tx: Tx, caller: Caller, id: string): Promise<Subscription> =>
    (await lockSubscription(tx, tenantOf(caller), id)) ?? fail('WEBHOOK_NOT_FOUND');

  /** Whether the organization is halted, as it may be since the caller was let in. */
  const takePlace = async (tx: Tx, organizationId: string): Promise<{ halted: boolean }> => {
    const { status } = (await lockOrganization(tx, organizationId)) ?? fail('ORG_NOT_FOUND');
    const limit = limits.webhooksPerOrganization;
    if ((await countSubscriptions(tx, organizationId)) < limit) return { halted: status !== 'active' };
    return fail('FREE_TIER_LIMIT_EXCEEDED', {
      message: `An organization may have at most ${limit} webhook subscriptions; delete one that is not needed.`,
      details: { limitType: 'max_webhooks', limit },
    });
  };

  const requireDeliveries = () => {
    if (!enabled) fail('FORBIDDEN', { message: 'Webhook deliveries are switched off on this instance.' });
  };

  return {
    async create(caller, wanted) {
      refuseBadTarget(wanted.url);
      const now = isoTime(clock);
      const subscription: Subscription = {
        ...wanted,
        id: ids.uuid(),
        organization_id: caller.organizationId,
        active: true,
        failure_count: 0,
        created_at: now,
        updated_at: now,
      };
      const signingSecret = ids.key(signingPrefix);
      const known = await db.transaction(async (tx) => {
        const { halted } = await takePlace(tx, caller.organizationId);
        const joined = await company.join(tx, clock.now());
        const sealedSecret = vault.seal(signingSecret, subscription.id);
        await insertSubscription(tx, subscription, { sealedSecret, halted });
        await record(tx, caller, 'created', subscription, described(subscription));
        return joined;
      });
      await known();
      return { ...subscription, signingSecret };
    },

    list: (caller) => listSubscriptions(db, caller.organizationId),

    get: (caller, id) => found(db, caller, id),

    async update(caller, id, change) {
      if (change.url !== undefined) refuseBadTarget(change.url);
      let known = async () => {};
      const updated = await db.transaction(async (tx) => {
        const before = await locked(tx, caller, id);
        const changed = (Object.keys(change) as (keyof SubscriptionChange)[]).filter(
          (field) => !isDeepStrictEqual(change[field], before[field]),
        );
        if (changed.length === 0) return before;
        if (changed.some((field) => lastingFields.has(field))) refuseBorrowedWrite(caller);
        // Another address, or another chance: what failed before says nothing about it.
        const afresh = changed.includes('url') || (changed.includes('active') && change.active === true);
        const after: Subscription = {
          ...before,
          ...change,
          ...(afresh && { failure_count: 0 }),
          updated_at: isoTime(clock),
        };
        if (after.active && !before.active) known = await company.join(tx, clock.now());
        await updateSubscription(tx, after);
        await record(tx, caller, 'updated', after, { changed, ...described(after) });
        return after;
      });
      await known();
      return updated;
    },

    async remove(caller, id) {
      await db.transaction(async (tx) => {
        const subscription = await locked(tx, caller, id);
        await deleteSubscription(tx, subscription.id);
        await record(tx, caller, 'deleted', subscription, described(subscription));
      });
      // Not within the transaction, where events of the organization could have to wait for it.
      await deleteDeliveries(db, id, { before: null, settledOnly: false, atMost: sweptAtOnce });
    },

    async deliveries(caller, id, query) {
      const { id: subscriptionId } = await found(db, caller, id);
      const { deliveries, total } = await listDeliveries(db, subscriptionId, query);
      return { deliveries, total, limit: query.limit, offset: query.offset };
    },

    rotateSecret: (caller, id) =>
      db.transaction(async (tx) => {
        const before = await locked(tx, caller, id);
        refuseBorrowedWrite(caller);
        const signingSecret = ids.key(signingPrefix);
        const after = { ...before, updated_at: isoTime(clock) };
        await replaceSecret(tx, after.id, vault.seal(signingSecret, after.id), after.updated_at);
        await record(tx, caller, 'secret_rotated', after);
        return { ...after, signingSecret };
      }),

    async test(caller, id) {
      requireDeliveries();
      return db.transaction(async (tx) => {
        const subscription = await found(tx, caller, id);
        const deliveryId = ids.uuid();
        const envelope = {
          id: ids.uuidV7(clock.now()),
          type: testEvent,
          organizationId: subscription.organization_id,
          timestamp: isoTime(clock),
          data: {
            agentId: caller.agentId,
            webhookId: subscription.id,
            message: 'Somebody asked for this test.',
          },
        };
        await record(tx, caller, 'tested', subscription, { deliveryId });
        return insertDelivery(tx, { id: deliveryId, subscriptionId: subscription.id, envelope });
      });
    },

    async replay(caller, id, deliveryId) {
      requireDeliveries();
      return db.transaction(async (tx) => {
        const subscription = await found(tx, caller, id);
        const { id: subscriptionId } = subscription;
        const delivery = await replayDelivery(tx, { id: deliveryId, subscriptionId, now: isoTime(clock) });
        if (!delivery)
          fail('WEBHOOK_NOT_FOUND', { message: 'The subscription has no delivery with this id.' });
        await record(tx, caller, 'replayed', subscription, { deliveryId: delivery.id });
        return delivery;
      });
    },
  };
}

/** For the audit log. The path of an address is often a secret of the receiver's. */
const described = ({ name, url, events, active }: Subscription) => ({
  name,
  target: new URL(url).origin,
  events,
  active,
});
