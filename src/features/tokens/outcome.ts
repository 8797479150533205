/**
 * Token requests of the same moment share a transaction: their clients are looked up and held together, each is decided,
 * and what was decided is recorded together. So the wait for the disk is paid once for all of them, and nobody is answered
 * before the audit record is durable.
 */
import type { Tx } from '../../kernel/db.ts';
import { createGatherer } from '../../kernel/gather.ts';
import type { Entry } from '../../kernel/ledger.ts';
import { type Claim, type Held, holdClaims } from './claim.ts';
import type { PlanLimit, TokenDeps } from './feature.ts';
import { busy, type Standing } from './store.ts';

export interface Request<T> {
  readonly claim: Claim;
  /** Asked within the transaction, where the agent cannot change any more. What it throws is the request's own affair. */
  decide(held: Held): Promise<Decision<T> | Candidate<T>>;
}

export interface Decision<T> {
  readonly entry: Entry;
  /** Looked at once the entry is durable. */
  readonly outcome: Promise<T>;
}

/** A token that is issued unless the plan of the client's organization is used up: signed, or refused, only then. */
export interface Candidate<T> {
  readonly client: Standing;
  granted(): Decision<T>;
  refused(limit: PlanLimit): Decision<T>;
}

/** Somebody is being issued the organization's last tokens just now: they must be waited for. */
const contended = Symbol('contended');

export function createSettle<T>(deps: TokenDeps): (request: Request<T>) => Promise<T> {
  const { db, clock, ledger, checkPlans } = deps;

  /** Every candidate becomes a decision, or has to wait. What failed stays as it is. */
  const weigh = async (
    tx: Tx,
    asked: readonly PromiseSettledResult<Decision<T> | Candidate<T> | typeof busy>[],
    waiting: boolean,
  ) => {
    const clients = asked.flatMap((one) => (isCandidate(one) ? [one.value.client] : []));
    const answers = clients.length === 0 ? [] : await checkPlans(tx, clients, { waiting });
    let next = 0;
    return asked.map((one): PromiseSettledResult<Decision<T> | typeof busy | typeof contended> => {
      if (!isCandidate(one)) return one as PromiseSettledResult<Decision<T> | typeof busy>;
      const answer = answers[next++];
      if (answer === 'busy') return { status: 'fulfilled', value: contended };
      return { status: 'fulfilled', value: answer ? one.value.refused(answer) : one.value.granted() };
    });
  };

  const settle = (requests: readonly Request<T>[], waiting: boolean) =>
    db.transaction(async (tx) => {
      const held = await holdClaims(
        tx,
        requests.map(({ claim }) => claim),
        { now: new Date(clock.now()), waiting },
      );
      const asked = await Promise.allSettled(
        requests.map(async (request, index) => {
          const holding = held[index] as Held | typeof busy;
          return holding === busy ? busy : request.decide(holding);
        }),
      );
      const decisions = await weigh(tx, asked, waiting);
      const decided = decisions.flatMap((decision) =>
        decision.status === 'fulfilled' && typeof decision.value !== 'symbol' ? [decision.value.entry] : [],
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
    const answer = first.status === 'fulfilled' ? first.value : undefined;
    const decision =
      answer === busy
        ? await settleBusy(request)
        : answer === contended
          ? await settleBusy({ ...request, claim: onceMore(request.claim) })
          : first;
    if (decision.status === 'rejected') throw decision.reason;
    return (decision.value as Decision<T>).outcome;
  };
}

const isCandidate = <T>(
  one: PromiseSettledResult<Decision<T> | Candidate<T> | typeof busy>,
): one is PromiseFulfilledResult<Candidate<T>> =>
  one.status === 'fulfilled' && typeof one.value !== 'symbol' && 'granted' in one.value;

/** Its assertion was good, and has been used by this request: that must not be held against it. */
const onceMore = (claim: Claim): Claim => (claim.kind === 'assertion' ? { ...claim, used: true } : claim);
