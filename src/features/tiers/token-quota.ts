/**
 * The token quotas: per client and month, then per organization and day. They are exact without the key-value store: a transaction
 * that issues tokens for a limited organization locks the organization (or the client, where only that is limited) and writes the
 * count before it commits. Far from the limit the lock is not needed, and organizations without limits cost nothing.
 */

import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { lockExclusive, tryLockExclusive } from '../../kernel/data/locks.ts';
import type { AgentStatus } from '../tokens/store.ts';
import type { TierDeps } from './feature.ts';
import { isLimited, type LimitReached, limitReached, limitsOf } from './limits.ts';

type QuotaClient = Pick<AgentStatus, 'organizationId' | 'agentId' | 'planTier' | 'maxTokensPerMonth'>;

/**
 * Returns one entry per client, in their order: undefined when a token may be issued, which must then be recorded in the same
 * transaction; the limit that is reached; or `busy`, when `waiting` is false and another transaction holds the quota lock near the
 * limit.
 */
export type CheckTokens = (
  tx: Tx,
  clients: readonly QuotaClient[],
  options: { waiting: boolean },
) => Promise<readonly (LimitReached | 'busy' | undefined)[]>;

/** The limit that refuses a token of this client now. Takes no locks and counts nothing. */
export type ReachedTokenLimit = (db: Queryable, client: QuotaClient) => Promise<LimitReached | undefined>;

/** More tokens than all processes can issue concurrently. With more than this left, a missed lock does not matter. */
const lockThreshold = 10_000;

export function createTokenQuota({
  clock,
  metrics,
  tokensAt,
}: Pick<TierDeps, 'clock' | 'metrics' | 'tokensAt'>): CheckTokens {
  return async (tx, clients, { waiting }) => {
    const limited = clients.filter(hasTokenLimit);
    if (limited.length === 0) return clients.map(() => undefined);
    const now = clock.now();
    const locks = distinct(limited.map(lockOf));
    const readCounts = () =>
      tokensAt(
        tx,
        distinct(limited.map(({ organizationId }) => organizationId)),
        distinct(limited.map(({ agentId }) => agentId)),
        now,
      );
    // Both statements are pipelined; PostgreSQL runs the count after the lock.
    const [unavailable, counts] = await Promise.all([lockQuotas(tx, locks, waiting), readCounts()]);
    const used = new Map(counts);
    const usedBy = (id: string) => used.get(id) ?? 0;

    const check = (client: QuotaClient) => {
      if (!hasTokenLimit(client)) return undefined;
      const { agentId, organizationId } = client;
      const applicable = limitsFor(client);
      const reached = applicable.find(({ id, limit }) => usedBy(id) >= limit);
      if (reached) {
        const { limitType, limit } = reached;
        tx.afterCommit(() =>
          metrics.count('service_billing_limit_rejections_total', {
            org_id: organizationId,
            limit_type: limitType,
          }),
        );
        return limitReached(limitType, limit, client, now);
      }
      const isClose = applicable.some(({ id, limit }) => limit - usedBy(id) <= lockThreshold);
      if (isClose && unavailable.has(lockOf(client))) return 'busy';
      for (const id of [agentId, organizationId]) used.set(id, usedBy(id) + 1);
      return undefined;
    };
    return clients.map(check);
  };
}

/** Reads only: without locks, so the answer may be outdated as soon as it is given. */
export const createTokenLimitReader =
  ({ clock, tokensAt }: Pick<TierDeps, 'clock' | 'tokensAt'>): ReachedTokenLimit =>
  async (db, client) => {
    if (!hasTokenLimit(client)) return undefined;
    const now = clock.now();
    const used = await tokensAt(db, [client.organizationId], [client.agentId], now);
    const reached = limitsFor(client).find(({ id, limit }) => (used.get(id) ?? 0) >= limit);
    return reached && limitReached(reached.limitType, reached.limit, client, now);
  };

/** In the order in which they are checked; `id` is the client's or the organization's. */
function limitsFor(client: QuotaClient) {
  const { tokens_per_month, tokens_per_day } = limitsOf(client);
  const checks = [
    { limitType: 'tokens_per_month', id: client.agentId, limit: tokens_per_month },
    { limitType: 'tokens_per_day', id: client.organizationId, limit: tokens_per_day },
  ] as const;
  return checks.filter(({ limit }) => isLimited(limit));
}

export const hasTokenLimit = (client: QuotaClient): boolean => {
  const { tokens_per_day, tokens_per_month } = limitsOf(client);
  return isLimited(tokens_per_day) || isLimited(tokens_per_month);
};

const lockOf = (client: QuotaClient): string =>
  isLimited(limitsOf(client).tokens_per_day) ? client.organizationId : client.agentId;

const distinct = (ids: readonly string[]): string[] => [...new Set(ids)];

/** Returns the locks that another transaction holds; none after waiting. */
async function lockQuotas(tx: Tx, locks: readonly string[], waiting: boolean): Promise<Set<string>> {
  if (!waiting) return tryLockExclusive(tx, 'tokenQuota', locks);
  await lockExclusive(tx, 'tokenQuota', locks);
  return new Set();
}
