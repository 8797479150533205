/**
 * Which requests share a transaction. Concurrent requests of a batched grant do: they pay the wait for the disk once, and no request
 * is answered before its audit record is durable. A request that has to wait for a lock gets a transaction of its own, in a queue
 * with a share per organization, because it holds a database connection while it waits.
 */
import { createBatcher } from '../../../kernel/concurrency/batcher.ts';
import { createFairQueue, type FairQueue } from '../../../kernel/concurrency/fair-queue.ts';
import type { UnbatchedGrant } from '../../../kernel/ports/grant.ts';
import type { AuthenticatedRequest } from './authorize.ts';
import type { Recorded } from './record.ts';

export interface IssueOptions {
  /** Whether the transaction waits for locks. */
  readonly waiting: boolean;
  /** Other agents to lock together with the clients. */
  readonly agentsToLock?: readonly string[];
}

/** One transaction for all of these requests; the results are in the order of the requests. */
export type IssueBatch = (
  requests: readonly AuthenticatedRequest[],
  options: IssueOptions,
) => Promise<Recorded[]>;

const batches = { maxBatch: 100, concurrency: 1, maxQueue: 1_000 } as const;

/** An organization has one place, so it cannot take both. */
const waitingRequests = { concurrency: 2, perKey: 1, maxQueue: 200, maxWaitMs: 30_000 } as const;

export function createIssueQueues(
  issueBatch: IssueBatch,
  exchangeQueue: FairQueue,
): (request: AuthenticatedRequest) => Promise<Recorded> {
  const issueTogether = createBatcher({
    run: (requests: readonly AuthenticatedRequest[]) => issueBatch(requests, { waiting: false }),
    ...batches,
  });
  const waitingQueue = createFairQueue(waitingRequests);

  const issueAlone = (
    queue: FairQueue,
    request: AuthenticatedRequest,
    agentsToLock?: readonly string[],
  ): Promise<Recorded> =>
    queue(request.proof.organizationId, async () => {
      const [result] = await issueBatch([request], { waiting: true, ...(agentsToLock && { agentsToLock }) });
      return result as Recorded;
    });

  const issueUnbatched = async (request: AuthenticatedRequest, grant: UnbatchedGrant) =>
    issueAlone(exchangeQueue, request, await grant.agentsToLock(request.form));

  return async (request) => {
    if (request.grant.transaction === 'own') return issueUnbatched(request, request.grant);
    const result = await issueTogether(request);
    if (result.kind === 'agentBusy') return issueAlone(waitingQueue, request);
    if (result.kind === 'quotaBusy') return issueAlone(waitingQueue, withUsedAssertion(request));
    return result;
  };
}

/** The first transaction was committed, with the assertion marked as used. */
const withUsedAssertion = (request: AuthenticatedRequest): AuthenticatedRequest =>
  request.proof.kind === 'assertion' ? { ...request, proof: { ...request.proof, used: true } } : request;
