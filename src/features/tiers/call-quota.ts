/**
 * The daily limit of API calls. The count is one counter in the key-value store that all processes share, so it is exact;
 * organizations without a limit are not counted there. A counter that is not there (a new day, a store that was lost) is
 * brought up to what SQL says, and so is every counter once a minute, for what it may have missed. While the store is
 * away each process counts for itself, and looks up every few seconds what the others have written.
 */
import type { UsageMetric } from '../../contract/usage.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Overloaded } from '../../kernel/concurrency/overloaded.ts';
import { DatabaseUnavailable } from '../../kernel/data/db.ts';
import { createLru } from '../../kernel/data/lru.ts';
import { fail } from '../../kernel/fail.ts';
import type { Identity } from '../../kernel/http/guard.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import { type Kv, KvUnavailable } from '../../kernel/ports/kv.ts';
import { isLimited, limitsOf, reached, resetOf } from './limits.ts';

export interface CallQuotaDeps {
  readonly kv: Kv;
  /** Counts in this process while `kv` is away. */
  readonly fallback: Kv;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Calls of the organization on the day of `now`, as far as SQL knows. */
  callsOn(organizationId: string, now: number): Promise<number>;
  countUsage(organizationId: string, agentId: string, metric: UsageMetric): void;
}

export interface CallQuota {
  /** For the guard. */
  countCall(identity: Identity): Promise<void> | void;
  usedToday(organizationId: string): Promise<number>;
}

/** Longer than a day, so that no clock's midnight finds it gone. */
const keptMs = 2 * 86_400_000;
const aloneMs = 10_000;
const confirmedMs = 60_000;
const remembered = 10_000;

export function createCallQuota(deps: CallQuotaDeps): CallQuota {
  const { kv, fallback, clock, metrics, callsOn, countUsage } = deps;
  const confirmedAt = createLru<number>(remembered);
  const lookingUp = new Map<string, Promise<void>>();

  const keyAt = (organizationId: string, now: number) =>
    `calls:${new Date(now).toISOString().slice(0, 10)}:${organizationId}`;

  /** By one for all who ask meanwhile. */
  const bringUp = (store: Kv, organizationId: string, now: number): Promise<void> => {
    const key = keyAt(organizationId, now);
    const name = `${store === kv ? 'shared' : 'own'} ${key}`;
    const underWay = lookingUp.get(name);
    if (underWay) return underWay;
    const ttlMs = store === kv ? keptMs : aloneMs;
    const looking = callsOn(organizationId, now)
      .then((used) => store.raise(key, used, { ttlMs }))
      .finally(() => lookingUp.delete(name));
    lookingUp.set(name, looking);
    return looking;
  };

  const takeFrom = async (store: Kv, organizationId: string, now: number, atMost: number) => {
    const key = keyAt(organizationId, now);
    const taken = await store.take(key, { max: atMost });
    if (taken !== 'absent') return taken;
    await bringUp(store, organizationId, now);
    return store.take(key, { max: atMost });
  };

  const confirm = async (organizationId: string, now: number) => {
    const key = keyAt(organizationId, now);
    if (now - (confirmedAt.get(key) ?? 0) < confirmedMs) return;
    confirmedAt.set(key, now);
    await bringUp(kv, organizationId, now).catch((error) => {
      // It can wait for the next minute, as long as the counter is there.
      if (!(error instanceof DatabaseUnavailable || error instanceof Overloaded)) throw error;
    });
  };

  const take = async (organizationId: string, now: number, atMost: number) => {
    try {
      await confirm(organizationId, now);
      const taken = await takeFrom(kv, organizationId, now, atMost);
      if (taken !== 'absent') return taken;
      throw new KvUnavailable('it does not keep what it is given');
    } catch (error) {
      if (!(error instanceof KvUnavailable)) throw error;
      // What is counted here meanwhile it does not know; it is told as soon as it is back.
      confirmedAt.set(keyAt(organizationId, now), 0);
      return takeFrom(fallback, organizationId, now, atMost);
    }
  };

  const note = ({ organizationId, agentId, planTier }: Identity) => {
    countUsage(organizationId, agentId, 'api_calls');
    metrics.count('service_tenant_api_calls_total', { org_id: organizationId, tier: planTier });
  };

  const refuse = ({ organizationId, planTier }: Identity, limit: number, now: number): never => {
    const limitType = 'api_calls_per_day';
    metrics.count('service_billing_limit_rejections_total', {
      org_id: organizationId,
      limit_type: limitType,
    });
    const { resetsAt, description } = reached(limitType, limit, planTier, now);
    const resetAt = Math.ceil((resetOf(limitType, now) ?? now) / 1000);
    return fail('tier_limit_exceeded', {
      message: `${description}.`,
      details: { tier: planTier, limitType, limit, resetsAt },
      // The window of this minute has nothing to say any more.
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
    note(identity);
  };

  return {
    countCall(identity) {
      const limit = limitsOf({ planTier: identity.planTier, maxTokensPerMonth: null }).api_calls_per_day;
      return isLimited(limit) ? countLimited(identity, limit) : note(identity);
    },
    /** The shared counter knows of calls that other processes have yet to write; SQL, of those that were never limited. */
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
