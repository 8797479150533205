/** The reads that wait for their next attempt after a transient failure. Their pages keep what they show. */
import type { Query, QueryClient } from '@tanstack/react-query';
import type { ApiError } from './api-error.ts';
import { onRequestEvent } from './request.ts';
import { isTransient, isUnavailable } from './retry.ts';

/** The failed request that its query repeats: in the wait for the next attempt, and during it. */
const failureOf = ({ state }: Query): ApiError | null =>
  state.fetchStatus !== 'idle' && isTransient(state.fetchFailureReason) ? state.fetchFailureReason : null;

export const isWaiting = (query: Query): boolean => failureOf(query) !== null;

/** The reads on display that wait for a server that is unavailable. */
const findUnavailable = (client: QueryClient): Query[] =>
  client
    .getQueryCache()
    .findAll({ type: 'active' })
    .filter((query) => isUnavailable(failureOf(query)));

/** `lost`: there is no answer. `busy`: the server, or a proxy before it, says that it cannot answer. Undefined: no read waits for it. */
export function outageOf(client: QueryClient): 'lost' | 'busy' | undefined {
  const statuses = findUnavailable(client).map((query) => failureOf(query)?.status);
  return statuses.length === 0 ? undefined : statuses.includes(0) ? 'lost' : 'busy';
}

/** Repeats the reads that wait for a server that is unavailable, now. Those that meet the rate limit keep to its time. */
export function retryNow(client: QueryClient): void {
  const waiting = findUnavailable(client);
  // Without data a query would keep its present wait.
  for (const query of waiting)
    if (query.state.data === undefined) void query.cancel({ revert: true, silent: true });
  void client.refetchQueries({ type: 'active', predicate: (query) => waiting.includes(query) });
}

/** The query whose request has just been answered is done then. */
const settleMilliseconds = 250;
/** One path may be blocked while all others work. */
const pauseMilliseconds = 5_000;

/** An answer after an outage: the reads that wait continue at once. */
export function resumeAfterOutage(client: QueryClient): void {
  let isDue = false;
  let lastAt = 0;
  onRequestEvent(({ type }) => {
    if (type === 'offline') isDue = true;
    if (type !== 'online' || !isDue) return;
    isDue = false;
    if (Date.now() - lastAt < pauseMilliseconds) return;
    lastAt = Date.now();
    setTimeout(() => retryNow(client), settleMilliseconds);
  });
}
