/**
 * Token requests of the same moment share a transaction: their clients are looked up and held together, each is decided,
 * and what was decided is recorded together. So the wait for the disk is paid once for all of them, and nobody is answered
 * before the audit record is durable.
 */
import { createGatherer } from '../../kernel/gather.ts';
import type { Entry } from '../../kernel/ledger.ts';
import { busy, type Claim, type Held, holdClaims } from './claim.ts';
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
  const settle = (requests: readonly Request<T>[], waiting: boolean) =>
    db.transaction(async (tx) => {
      const held = await holdClaims(
        tx,
        requests.map(({ claim }) => claim),
        { now: new Date(clock.now()), waiting },
      );
      const decisions = await Promise.allSettled(
        requests.map(async (request, index) => {
          const holding = held[index] as Held | typeof busy;
          return holding === busy ? busy : request.decide(holding);
        }),
      );
      const decided = decisions.flatMap((decision) =>
        decision.status === 'fulfilled' && decision.value !== busy ? [decision.value.entry] : [],
      );
      await ledger.recordAll(tx, decided);
      return decisions;
    });

  const settleTogether = createGatherer({
    run: (requests: readonly Request<T>[]) => settle(requests, false),
    atMost: 100,
    atOnce: 1,
    waiting: 1_000,
  });
  /** Apart from the others, so that nobody else waits for whoever holds the agent. */
  const settleBusy = createGatherer({
    run: (requests: readonly Request<T>[]) => settle(requests, true),
    atMost: 1,
    atOnce: 2,
    waiting: 200,
  });

  return async (request) => {
    const first = await settleTogether(request);
    const isBusy = first.status === 'fulfilled' && first.value === busy;
    const decision = isBusy ? await settleBusy(request) : first;
    if (decision.status === 'rejected') throw decision.reason;
    return (decision.value as Decision<T>).outcome;
  };
}
