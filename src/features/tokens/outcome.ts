/**
 * Concurrent token requests share a transaction: their clients are locked and checked together, each request is decided, and the
 * decisions are recorded together. So the wait for the disk is paid once for all of them, and no request is answered before
 * its audit record is durable. Requests come here authenticated and counted: nothing in the transaction waits for Redis.
 */

import { createBatcher } from '../../kernel/concurrency/batcher.ts';
import { createFairQueue } from '../../kernel/concurrency/fair-queue.ts';
import type { Tx } from '../../kernel/data/db.ts';
import type { LedgerEntry } from '../../kernel/domain-event.ts';
import { type Failed, holdClaims, type ProvenClaim } from './claim.ts';
import type { PlanLimit, TokenDeps } from './deps.ts';
import { busy, type Standing } from './store.ts';

export interface Request<T> {
  /** The client's organization: its requests for locked agents share one place in the queue. */
  readonly organizationId: string;
  readonly claim: ProvenClaim;
  /** Called within the transaction, where the client is locked. Waits for nothing: other clients' locks are held too. */
  decide(client: Standing): Decision<T> | Candidate<T>;
}

export interface Decision<T> {
  readonly entry: LedgerEntry;
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

/** What becomes of a request within a transaction. */
type Settled<T> = Decision<T> | Failed | typeof busy | typeof contended;

/** A request for a locked agent holds a connection while it waits. An organization has one place, so it cannot take both. */
const busyRequests = { concurrency: 2, perKey: 1, maxQueue: 200, maxWaitMs: 30_000 } as const;

export function createSettle<T>(deps: TokenDeps): (request: Request<T>) => Promise<T | Failed> {
  const { db, clock, ledger, checkPlans } = deps;

  /** Every candidate becomes a decision, or has to wait. The others stay as they are. */
  const weigh = async (
    tx: Tx,
    asked: readonly (Settled<T> | Candidate<T>)[],
    waiting: boolean,
  ): Promise<Settled<T>[]> => {
    const clients = asked.flatMap((one) => (isCandidate(one) ? [one.client] : []));
    const answers = clients.length === 0 ? [] : await checkPlans(tx, clients, { waiting });
    let next = 0;
    return asked.map((one) => {
      if (!isCandidate(one)) return one;
      const answer = answers[next++];
      if (answer === 'busy') return contended;
      return answer ? one.refused(answer) : one.granted();
    });
  };

  const settle = (requests: readonly Request<T>[], waiting: boolean) =>
    db.transaction(async (tx) => {
      const held = await holdClaims(
        tx,
        requests.map(({ claim }) => claim),
        { now: new Date(clock.now()), waiting },
      );
      const asked = requests.map((request, index) => {
        const client = held[index] as (typeof held)[number];
        return client === busy || 'failure' in client ? client : request.decide(client);
      });
      const settled = await weigh(tx, asked, waiting);
      await ledger.recordAll(
        tx,
        settled.flatMap((one) => (isDecision(one) ? [one.entry] : [])),
      );
      return settled;
    });

  const settleTogether = createBatcher({
    run: (requests: readonly Request<T>[]) => settle(requests, false),
    maxBatch: 100,
    concurrency: 1,
    maxQueue: 1_000,
  });
  const queueBusy = createFairQueue(busyRequests);
  /** In a transaction of its own: no other request waits for the lock. */
  const settleBusy = (request: Request<T>) =>
    queueBusy(request.organizationId, async () => {
      const [settled] = await settle([request], true);
      return settled as Settled<T>;
    });

  return async (request) => {
    const first = await settleTogether(request);
    const settled =
      first === busy
        ? await settleBusy(request)
        : first === contended
          ? await settleBusy({ ...request, claim: onceMore(request.claim) })
          : first;
    return isDecision(settled) ? settled.outcome : (settled as Failed);
  };
}

const isCandidate = <T>(one: Settled<T> | Candidate<T>): one is Candidate<T> =>
  typeof one !== 'symbol' && 'granted' in one;

const isDecision = <T>(one: Settled<T>): one is Decision<T> => typeof one !== 'symbol' && 'entry' in one;

/** Its assertion was good, and has been used by this request: that must not be held against it. */
const onceMore = (claim: ProvenClaim): ProvenClaim =>
  claim.kind === 'assertion' ? { ...claim, used: true } : claim;
