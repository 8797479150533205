/**
 * Token requests of the same moment share a transaction: their clients are looked up and held together, each is decided,
 * and what was decided is recorded together. So the wait for the disk is paid once for all of them, and nobody is answered
 * before the audit record is durable.
 */
import { createGatherer } from '../../kernel/gather.ts';
import type { Entry } from '../../kernel/ledger.ts';
import { type Claim, type Held, holdClaims } from './claim.ts';
import type { TokenDeps } from './feature.ts';

export interface Request<T> {
  readonly claim: Claim;
  /** Asked within the transaction, where the agent cannot change any more. What it throws is the request's own affair. */
  decide(held: Held): Promise<Decision<T>>;
}

export interface Decision<T> {
  readonly entry: Entry;
  /** Looked at once the entry is durable. */
  readonly outcome: Promise<T>;
}

export function createSettle<T>({ db, clock, ledger }: TokenDeps): (request: Request<T>) => Promise<T> {
  const settleTogether = createGatherer({
    atMost: 100,
    atOnce: 1,
    waiting: 1_000,
    run: (requests: readonly Request<T>[]) =>
      db.transaction(async (tx) => {
        const held = await holdClaims(
          tx,
          requests.map(({ claim }) => claim),
          new Date(clock.now()),
        );
        const decisions = await Promise.allSettled(
          requests.map((request, index) => request.decide(held[index] as Held)),
        );
        const decided = decisions.filter((decision) => decision.status === 'fulfilled');
        await ledger.recordAll(
          tx,
          decided.map(({ value }) => value.entry),
        );
        return decisions;
      }),
  });

  return async (request) => {
    const decision = await settleTogether(request);
    if (decision.status === 'rejected') throw decision.reason;
    return decision.value.outcome;
  };
}
