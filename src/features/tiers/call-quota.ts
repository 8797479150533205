/**
 * The daily quota of API calls: one counter per organization in the key-value store, shared by all processes, so it is exact.
 * Organizations without a limit are not counted there. A missing counter (a new day, lost data) is raised to the count in SQL, and
 * so is each counter once a minute. While the store is unavailable, each process counts alone and reads the count of the others
 * from SQL every few seconds.
 */

import { isTemporary } from '../../kernel/data/db.ts';
import { createLru } from '../../kernel/data/lru.ts';
import { fail } from '../../kernel/fail.ts';
import type { Identity } from '../../kernel/http/access/identity.ts';
import { type Kv, KvUnavailable } from '../../kernel/ports/kv.ts';
import type { TierDeps } from './feature.ts';
import { isLimited, limitReached, limitsOf, resetOf } from './limits.ts';

export interface CallQuota {
  /** For the guard: counts the call, or refuses it. */
  countCall(identity: Identity): Promise<void> | void;
  usedToday(organizationId: string): Promise<number>;
}

type CallQuotaDeps = Pick<TierDeps, 'kv' | 'fallback' | 'clock' | 'metrics' | 'callsOn' | 'countUsage'>;

/** Longer than a day, so that the counter outlives its day on every clock. */
const sharedTtlMs = 2 * 86_400_000;
const fallbackTtlMs = 10_000;
const reconcileMs = 60_000;
const maxReconciledKeys = 10_000;

export function createCallQuota(deps: CallQuotaDeps): CallQuota {
  const { kv, fallback, clock, metrics, callsOn, countUsage } = deps;
  const reconciledAt = createLru<number>(maxReconciledKeys);
  const raising = new Map<string, Promise<void>>();

  const keyAt = (organizationId: string, now: number) =>
    `calls:${new Date(now).toISOString().slice(0, 10)}:${organizationId}`;

  /** Raises the counter to the count in SQL. Concurrent calls share one read. */
  const raiseFromSql = (store: Kv, organizationId: string, now: number): Promise<void> => {
    const key = keyAt(organizationId, now);
    const name = `${store === kv ? 'shared' : 'own'} ${key}`;
    const current = raising.get(name);
    if (current) return current;
    const ttlMs = store === kv ? sharedTtlMs : fallbackTtlMs;
    const raised = callsOn(organizationId, now)
      .then((used) => store.raise(key, used, { ttlMs }))
      .finally(() => raising.delete(name));
    raising.set(name, raised);
    return raised;
  };

  const takeFrom = async (store: Kv, organizationId: string, now: number, max: number) => {
    const key = keyAt(organizationId, now);
    const taken = await store.take(key, { max });
    if (taken !== 'absent') return taken;
    await raiseFromSql(store, organizationId, now);
    return store.take(key, { max });
  };

  const reconcile = async (organizationId: string, now: number) => {
    const key = keyAt(organizationId, now);
    if (now - (reconciledAt.get(key) ?? 0) < reconcileMs) return;
    reconciledAt.set(key, now);
    await raiseFromSql(kv, organizationId, now).catch((error) => {
      // The counter exists, so this can wait for the next minute.
      if (!isTemporary(error)) throw error;
    });
  };

  const take = async (organizationId: string, now: number, max: number) => {
    try {
      await reconcile(organizationId, now);
      const taken = await takeFrom(kv, organizationId, now, max);
      if (taken !== 'absent') return taken;
      throw new KvUnavailable('it does not store values');
    } catch (error) {
      if (!(error instanceof KvUnavailable)) throw error;
      // Reconcile as soon as the store is back: it has missed the calls that are counted here.
      reconciledAt.set(keyAt(organizationId, now), 0);
      return takeFrom(fallback, organizationId, now, max);
    }
  };

  const countAccepted = ({ organizationId, agentId, planTier }: Identity) => {
    countUsage(organizationId, agentId, 'api_calls');
    metrics.count('service_tenant_api_calls_total', { org_id: organizationId, tier: planTier });
  };

  const refuse = ({ organizationId, planTier }: Identity, limit: number, now: number): never => {
    const limitType = 'api_calls_per_day';
    metrics.count('service_billing_limit_rejections_total', {
      org_id: organizationId,
      limit_type: limitType,
    });
    const { resetsAt, description } = limitReached(limitType, limit, { planTier }, now);
    const resetAt = Math.ceil((resetOf(limitType, now) ?? now) / 1000);
    return fail('tier_limit_exceeded', {
      message: `${description}.`,
      details: { tier: planTier, limitType, limit, resetsAt },
      // These replace the headers of the per-minute rate window.
      headers: {
        'retry-after': String(Math.max(1, Math.ceil(resetAt - now / 1000))),
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': String(resetAt),
      },
    });
  };

  const countLimited = async (identity: Identity, limit: number) => {
    const now = clock.now();
    if ((await take(identity.organizationId, now, limit)) === 'full') refuse(identity, limit, now);
    countAccepted(identity);
  };

  return {
    countCall(identity) {
      const limit = limitsOf({ planTier: identity.planTier, maxTokensPerMonth: null }).api_calls_per_day;
      return isLimited(limit) ? countLimited(identity, limit) : countAccepted(identity);
    },
    /** The shared counter includes calls that other processes have not yet written; SQL includes those that were not limited. */
    async usedToday(organizationId) {
      const now = clock.now();
      const key = keyAt(organizationId, now);
      const [counted, written] = await Promise.all([
        kv.get(key).catch(() => fallback.get(key)),
        callsOn(organizationId, now),
      ]);
      return Math.max(Number(counted ?? 0), written);
    },
  };
}
