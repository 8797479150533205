import { isDeepStrictEqual } from 'node:util';
import { testEvent } from '../../../contract/events.ts';
import { limits } from '../../../contract/limits.ts';
import { type Caller, refuseBorrowedScope, tenantOf } from '../../../kernel/caller.ts';
import { isoTime } from '../../../kernel/clock.ts';
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { VaultProblem } from '../../../kernel/data/vault.ts';
import { secretPrefix } from '../../../kernel/delivery/signature.ts';
import { fail } from '../../../kernel/fail.ts';
import { timeRangeOf } from '../../../kernel/http/input/time-range.ts';
import { deleteDeliveries } from '../delivery/purge-store.ts';
import {
  countDeliveries,
  findDelivery,
  insertDelivery,
  listDeliveries,
  replayDelivery,
} from '../delivery/store.ts';
import type { WebhookDeps } from '../feature.ts';
import { replayFilterOf } from '../replays/period.ts';
import { countOpenReplays, countReplayable, insertReplay } from '../replays/store.ts';
import type {
  Delivery,
  DeliveryCounts,
  DeliveryCountsQuery,
  DeliveryPage,
  DeliveryQuery,
  NewSubscription,
  Replay,
  ReplayRequest,
  SecretRotation,
  Subscription,
  SubscriptionChange,
  SubscriptionWithSecret,
} from '../schema.ts';
import { requireEndpointUrl } from './endpoint-url.ts';
import {
  countSubscriptions,
  deleteSubscription,
  findSealedSecret,
  findSubscription,
  insertSubscription,
  listSubscriptions,
  lockSubscription,
  replaceSecrets,
  updateSubscription,
} from './store.ts';

export interface WebhookService {
  create(caller: Caller, input: NewSubscription): Promise<SubscriptionWithSecret>;
  /** The subscriptions of the caller's organization; the operator sees only its own as well. */
  list(caller: Caller): Promise<Subscription[]>;
  get(caller: Caller, id: string): Promise<Subscription>;
  update(caller: Caller, id: string, change: SubscriptionChange): Promise<Subscription>;
  remove(caller: Caller, id: string): Promise<void>;
  deliveries(caller: Caller, id: string, query: DeliveryQuery): Promise<DeliveryPage>;
  countDeliveries(caller: Caller, id: string, query: DeliveryCountsQuery): Promise<DeliveryCounts>;
  delivery(caller: Caller, id: string, deliveryId: string): Promise<Delivery>;
  rotateSecret(caller: Caller, id: string, options: SecretRotation): Promise<SubscriptionWithSecret>;
  test(caller: Caller, id: string): Promise<Delivery>;
  replay(caller: Caller, id: string, deliveryId: string): Promise<Delivery>;
  replayMany(caller: Caller, id: string, request: ReplayRequest): Promise<Replay>;
}

/** These fields keep their effect after a delegation has ended. */
const persistentFields: ReadonlySet<keyof SubscriptionChange> = new Set(['url', 'events']);

const refuseBorrowedWrite = (caller: Caller): void =>
  refuseBorrowedScope(
    caller,
    'webhooks:write',
    'A delegated token can rotate the secret of a subscription, or change its url or events, only if your own agent may hold webhooks:write.',
  );

/** Deliveries deleted with the request; the purge loop deletes the rest. */
const maxDeletedAtOnce = 10_000;

export function createWebhookService(deps: WebhookDeps): WebhookService {
  const {
    db,
    clock,
    ids,
    ledger,
    vault,
    presence,
    enabled,
    secretOverlapSeconds,
    lockOrganization,
    catchUp,
  } = deps;

  const record = (
    tx: Tx,
    caller: Caller,
    event: 'created' | 'updated' | 'deleted' | 'secret_rotated' | 'tested' | 'replayed',
    { id, organization_id }: Subscription,
    metadata: Record<string, unknown> = {},
  ) =>
    ledger.record(tx, caller, `webhook.${event}`, {
      organizationId: organization_id,
      agentId: caller.agentId,
      metadata: { webhookId: id, ...metadata },
    });

  /** The loop that erases expired secrets may be late. */
  const withoutExpired = (subscription: Subscription): Subscription => {
    const { previous_secret_expires_at: expiresAt } = subscription;
    return expiresAt === null || Date.parse(expiresAt) > clock.now()
      ? subscription
      : { ...subscription, previous_secret_expires_at: null };
  };

  const requireSubscription = async (
    queryable: Queryable,
    caller: Caller,
    id: string,
  ): Promise<Subscription> =>
    withoutExpired((await findSubscription(queryable, tenantOf(caller), id)) ?? fail('WEBHOOK_NOT_FOUND'));

  const requireLocked = async (tx: Tx, caller: Caller, id: string): Promise<Subscription> =>
    withoutExpired((await lockSubscription(tx, tenantOf(caller), id)) ?? fail('WEBHOOK_NOT_FOUND'));

  /** Returns whether the organization is halted: it may have been suspended since the request was authenticated. */
  const requireCapacity = async (tx: Tx, organizationId: string): Promise<{ halted: boolean }> => {
    const { status } = (await lockOrganization(tx, organizationId)) ?? fail('ORG_NOT_FOUND');
    const limit = limits.webhooksPerOrganization;
    if ((await countSubscriptions(tx, organizationId)) < limit) return { halted: status !== 'active' };
    return fail('FREE_TIER_LIMIT_EXCEEDED', {
      message: `An organization may have at most ${limit} webhook subscriptions; delete one that is not needed.`,
      details: { limitType: 'max_webhooks', limit },
    });
  };

  /** The replaced secret, sealed anew with the current key. Null when it cannot be read, because it cannot sign either. */
  const resealCurrent = async (tx: Tx, id: string): Promise<string | null> => {
    try {
      return vault.seal(vault.open(await findSealedSecret(tx, id), id), id);
    } catch (error) {
      if (error instanceof VaultProblem) return null;
      throw error;
    }
  };

  const requireDeliveries = () => {
    if (!enabled) fail('FORBIDDEN', { message: 'Webhook deliveries are switched off on this instance.' });
  };

  return {
    async create(caller, input) {
      requireEndpointUrl(input.url);
      const now = isoTime(clock);
      const subscription: Subscription = {
        ...input,
        id: ids.uuid(),
        organization_id: caller.organizationId,
        active: true,
        failure_count: 0,
        previous_secret_expires_at: null,
        created_at: now,
        updated_at: now,
      };
      const signingSecret = ids.key(secretPrefix);
      const untilKnown = await db.transaction(async (tx) => {
        const { halted } = await requireCapacity(tx, caller.organizationId);
        const wait = await presence.prepareActivation(tx, clock.now());
        const sealedSecret = vault.seal(signingSecret, subscription.id);
        await insertSubscription(tx, subscription, { sealedSecret, halted });
        await record(tx, caller, 'created', subscription, auditFields(subscription));
        return wait;
      });
      await untilKnown();
      return { ...subscription, signingSecret };
    },

    list: async (caller) => (await listSubscriptions(db, caller.organizationId)).map(withoutExpired),

    get: (caller, id) => requireSubscription(db, caller, id),

    async update(caller, id, change) {
      if (change.url !== undefined) requireEndpointUrl(change.url);
      let untilKnown = async () => {};
      const updated = await db.transaction(async (tx) => {
        const before = await requireLocked(tx, caller, id);
        const changed = (Object.keys(change) as (keyof SubscriptionChange)[]).filter(
          (field) => !isDeepStrictEqual(change[field], before[field]),
        );
        if (changed.length === 0) return before;
        if (changed.some((field) => persistentFields.has(field))) refuseBorrowedWrite(caller);
        // Earlier failures say nothing about a new URL, and an activation is a new start.
        const resetFailures =
          changed.includes('url') || (changed.includes('active') && change.active === true);
        const after: Subscription = {
          ...before,
          ...change,
          ...(resetFailures && { failure_count: 0 }),
          updated_at: isoTime(clock),
        };
        if (after.active && !before.active) untilKnown = await presence.prepareActivation(tx, clock.now());
        await updateSubscription(tx, after);
        await record(tx, caller, 'updated', after, { changed, ...auditFields(after) });
        return after;
      });
      await untilKnown();
      return updated;
    },

    async remove(caller, id) {
      await db.transaction(async (tx) => {
        const subscription = await requireLocked(tx, caller, id);
        await deleteSubscription(tx, subscription.id);
        await record(tx, caller, 'deleted', subscription, auditFields(subscription));
      });
      // After the transaction: events of the organization would wait for a long one.
      await deleteDeliveries(db, id, { before: null, completedOnly: false, limit: maxDeletedAtOnce });
    },

    async deliveries(caller, id, query) {
      const { id: subscriptionId, organization_id } = await requireSubscription(db, caller, id);
      await catchUp(organization_id);
      const { deliveries, total } = await listDeliveries(db, subscriptionId, timeRangeOf(query), query);
      return { deliveries, total, limit: query.limit, offset: query.offset };
    },

    async countDeliveries(caller, id, query) {
      const range = timeRangeOf(query);
      const { id: subscriptionId } = await requireSubscription(db, caller, id);
      const counts = { pending: 0, delivered: 0, failed: 0, dead_letter: 0 };
      for (const { status, count } of await countDeliveries(db, subscriptionId, range))
        counts[status] = count;
      return { ...counts, open_replays: await countOpenReplays(db, subscriptionId) };
    },

    async delivery(caller, id, deliveryId) {
      const { id: subscriptionId } = await requireSubscription(db, caller, id);
      return (await findDelivery(db, subscriptionId, deliveryId)) ?? unknownDelivery();
    },

    rotateSecret: (caller, id, { overlapSeconds = secretOverlapSeconds }) =>
      db.transaction(async (tx) => {
        const before = await requireLocked(tx, caller, id);
        refuseBorrowedWrite(caller);
        const signingSecret = ids.key(secretPrefix);
        const now = clock.now();
        const previous = overlapSeconds > 0 ? await resealCurrent(tx, before.id) : null;
        const previousExpiresAt =
          previous === null ? null : new Date(now + overlapSeconds * 1000).toISOString();
        const after: Subscription = {
          ...before,
          previous_secret_expires_at: previousExpiresAt,
          updated_at: new Date(now).toISOString(),
        };
        const current = vault.seal(signingSecret, after.id);
        await replaceSecrets(tx, after.id, { current, previous, previousExpiresAt }, after.updated_at);
        await record(tx, caller, 'secret_rotated', after, { previousSecretExpiresAt: previousExpiresAt });
        return { ...after, signingSecret };
      }),

    async test(caller, id) {
      requireDeliveries();
      return db.transaction(async (tx) => {
        const subscription = await requireSubscription(tx, caller, id);
        const deliveryId = ids.uuid();
        const envelope = {
          id: ids.uuidV7(clock.now()),
          type: testEvent,
          organizationId: subscription.organization_id,
          timestamp: isoTime(clock),
          data: {
            agentId: caller.agentId,
            webhookId: subscription.id,
            message: 'A test of this subscription was requested.',
          },
        };
        await record(tx, caller, 'tested', subscription, { deliveryId });
        return insertDelivery(tx, { id: deliveryId, subscriptionId: subscription.id, envelope });
      });
    },

    async replay(caller, id, deliveryId) {
      requireDeliveries();
      return db.transaction(async (tx) => {
        const subscription = await requireSubscription(tx, caller, id);
        const { id: subscriptionId } = subscription;
        const delivery = await replayDelivery(tx, { id: deliveryId, subscriptionId, now: isoTime(clock) });
        if (!delivery) unknownDelivery();
        await record(tx, caller, 'replayed', subscription, { deliveryId: delivery.id });
        return delivery;
      });
    },

    async replayMany(caller, id, request) {
      requireDeliveries();
      const filter = replayFilterOf(request, clock.now());
      return db.transaction(async (tx) => {
        const subscription = await requireLocked(tx, caller, id);
        const count = await countReplayable(tx, subscription.id, filter);
        if (count === 0) return { count };
        if ((await countOpenReplays(tx, subscription.id)) >= limits.webhookOpenReplays)
          fail('RATE_LIMIT_EXCEEDED', {
            message: `${limits.webhookOpenReplays} replays of this subscription are still under way; ask again when one of them has ended.`,
          });
        await insertReplay(tx, subscription.id, filter, isoTime(clock));
        const { statuses, since, until } = filter;
        await record(tx, caller, 'replayed', subscription, { count, statuses, since, until });
        return { count };
      });
    },
  };
}

function unknownDelivery(): never {
  fail('WEBHOOK_NOT_FOUND', { message: 'The subscription has no delivery with this id.' });
}

/** For the audit log: only the origin of the URL, because its path is often a secret of the receiver. */
const auditFields = ({ name, url, events, active }: Subscription) => ({
  name,
  target: new URL(url).origin,
  events,
  active,
});
