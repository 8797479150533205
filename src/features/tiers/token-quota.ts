/**
 * The limits of issued tokens: per client and month, then per organization and day. Exact without the key-value store:
 * who wants a token of a limited organization takes the organization's lock (or the client's, where only that is limited),
 * and the count is written in the transaction that holds it. Far from the limit nobody needs the lock, and organizations
 * without limits cost nothing.
 */
import type { PlanTier } from '../../contract/limits.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { lockExclusive, tryLockExclusive } from '../../kernel/data/locks.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import { isLimited, type LimitReached, limitsOf, reached } from './limits.ts';

export interface TokenAsker {
  readonly organizationId: string;
  readonly agentId: string;
  readonly planTier: PlanTier;
  readonly maxTokensPerMonth: number | null;
}

export interface TokenQuotaDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
  tokensAt(
    db: Queryable,
    organizationIds: readonly string[],
    agentIds: readonly string[],
    now: number,
  ): Promise<ReadonlyMap<string, number>>;
}

/**
 * In the order asked: undefined when a token may be issued, which must then be recorded in the same transaction; the limit
 * that stands against it; or `busy`, when somebody else is being issued the organization's last tokens just now and there
 * is no time to wait.
 */
export type CheckTokens = (
  tx: Tx,
  askers: readonly TokenAsker[],
  options: { waiting: boolean },
) => Promise<readonly (LimitReached | 'busy' | undefined)[]>;

/** More than all processes together can be issuing at one moment: with so many left, counting need not be in turn. */
const plenty = 10_000;

export function createTokenQuota({ clock, metrics, tokensAt }: TokenQuotaDeps): CheckTokens {
  return async (tx, askers, { waiting }) => {
    const limited = askers.filter(hasLimit);
    if (limited.length === 0) return askers.map(() => undefined);
    const now = clock.now();
    const locks = distinct(limited.map(lockOf));
    const lookUp = () =>
      tokensAt(
        tx,
        distinct(limited.map(({ organizationId }) => organizationId)),
        distinct(limited.map(({ agentId }) => agentId)),
        now,
      );
    // Both go out together; the count is read once the locks are there.
    const [taken, counts] = await Promise.all([hold(tx, locks, waiting), lookUp()]);
    const used = new Map(counts);
    const usedBy = (id: string) => used.get(id) ?? 0;

    const decide = (asker: TokenAsker) => {
      if (!hasLimit(asker)) return undefined;
      const { agentId, organizationId, planTier } = asker;
      const { tokens_per_month, tokens_per_day } = limitsOf(asker);
      const checks = [
        ['tokens_per_month', agentId, tokens_per_month],
        ['tokens_per_day', organizationId, tokens_per_day],
      ] as const;
      const applying = checks.filter(([, , limit]) => isLimited(limit));
      for (const [limitType, id, limit] of applying) {
        if (usedBy(id) < limit) continue;
        tx.afterCommit(() =>
          metrics.count('service_billing_limit_rejections_total', {
            org_id: organizationId,
            limit_type: limitType,
          }),
        );
        return reached(limitType, limit, planTier, now);
      }
      const isClose = applying.some(([, id, limit]) => limit - usedBy(id) <= plenty);
      if (isClose && taken.has(lockOf(asker))) return 'busy';
      for (const [, id] of checks) used.set(id, usedBy(id) + 1);
      return undefined;
    };
    return askers.map(decide);
  };
}

const hasLimit = (asker: TokenAsker): boolean => {
  const { tokens_per_day, tokens_per_month } = limitsOf(asker);
  return isLimited(tokens_per_day) || isLimited(tokens_per_month);
};

const lockOf = (asker: TokenAsker): string =>
  isLimited(limitsOf(asker).tokens_per_day) ? asker.organizationId : asker.agentId;

const distinct = (ids: readonly string[]): string[] => [...new Set(ids)];

/** Answers which of them somebody else has. */
async function hold(tx: Tx, locks: readonly string[], waiting: boolean): Promise<Set<string>> {
  if (!waiting) return tryLockExclusive(tx, 'tokenQuota', locks);
  await lockExclusive(tx, 'tokenQuota', locks);
  return new Set();
}
