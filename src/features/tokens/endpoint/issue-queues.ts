/**
 * Which requests share a transaction. Concurrent requests of a batched grant do: they pay the wait for the disk once, and no request
 * is answered before its audit record is durable. Organizations take turns, so a backlog delays and refuses only its own organization. A request that has to wait for a lock gets a transaction of its own, in a queue
 * with a share per organization, because it holds a database connection while it waits.
 */
import { createBatcher } from '../../../kernel/concurrency/batcher.ts';
import { createFairQueue, type FairQueue } from '../../../kernel/concurrency/fair-queue.ts';
import type { Metrics } from '../../../kernel/observability/metrics.ts';
import type { UnbatchedGrant } from '../grant.ts';
import type { AuthenticatedRequest } from './authorize.ts';
import type { Recorded } from './record.ts';
import { createSigningBacklog } from './signing-backlog.ts';

interface IssueOptions {
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

/** At most this many tokens are still being signed when the next batch starts: enough work for the signing threads until then. */
const maxUnsigned = 8;

/**
 * Requests that would wait longer are refused before they cost anything, so that an overload takes no time from the requests in the queue.
 * A burst may wait for a second. In an overload the wait is shorter, so that the queue is empty within a second after it. 400 clients that
 * each send one request at a time are no overload, also on a slow machine.
 */
const batches = {
  maxBatch: 100,
  concurrency: 1,
  maxQueue: 2_000,
  maxWaitMs: 1_000,
  inOverload: { maxWaitMs: 300, minQueue: 400 },
} as const;

/** An organization has one place, so it cannot take both. */
const waitingRequests = { concurrency: 2, perKey: 1, maxQueue: 200, maxWaitMs: 30_000 } as const;

interface IssueQueues {
  issue(request: AuthenticatedRequest): Promise<Recorded>;
  /** Whether a request of this organization would wait too long now. Without one: a request of any organization. */
  isOverloaded(organizationId?: string): boolean;
}

export function createIssueQueues(
  issueBatch: IssueBatch,
  exchangeQueue: FairQueue,
  metrics: Metrics,
): IssueQueues {
  const backlog = createSigningBacklog(maxUnsigned);
  const issueTogether = createBatcher({
    name: 'tokens.issue',
    async run(requests: readonly AuthenticatedRequest[]) {
      const results = await issueBatch(requests, { waiting: false });
      for (const result of results) if (result.kind === 'decided') backlog.add(result.response);
      return results;
    },
    key: ({ proof }) => proof.organizationId,
    ready: backlog.ready,
    metrics,
    ...batches,
  });
  const waitingQueue = createFairQueue({ ...waitingRequests, measured: { metrics, name: 'token_locks' } });

  const issueAlone = (
    queue: FairQueue,
    request: AuthenticatedRequest,
    agentsToLock?: readonly string[],
  ): Promise<Recorded> =>
    queue(request.proof.organizationId, async () => {
      const [result] = await issueBatch([request], { waiting: true, ...(agentsToLock && { agentsToLock }) });
      return result as Recorded;
    });

  const issueUnbatched = async (request: AuthenticatedRequest, grant: UnbatchedGrant) => {
    const { form, audience, origin, proof, keyProof } = request;
    const prepared = { form, audience, origin, client: proof };
    const refusal = await grant.prepare?.(
      keyProof ? { ...prepared, keyThumbprint: keyProof.thumbprint } : prepared,
    );
    const agents = await grant.agentsToLock(form);
    return issueAlone(exchangeQueue, refusal ? { ...request, refusal } : request, agents);
  };

  return {
    isOverloaded: issueTogether.isFull,
    async issue(request) {
      if (request.grant.transaction === 'own') return issueUnbatched(request, request.grant);
      const result = await issueTogether(request);
      if (result.kind === 'agentBusy') return issueAlone(waitingQueue, request);
      if (result.kind === 'quotaBusy') return issueAlone(waitingQueue, withUsedProofs(request));
      return result;
    },
  };
}

/** The first transaction was committed, with the assertion and the proof of possession marked as used. */
const withUsedProofs = (request: AuthenticatedRequest): AuthenticatedRequest => ({
  ...request,
  ...(request.proof.kind === 'assertion' && { proof: { ...request.proof, used: true } }),
  ...(request.keyProof && { keyProofUsed: true }),
});
