/** `POST /token` as a list of stages. The stages from `lockClients` to `record` run in one transaction, see issue-queues.ts. */

import type { TokenErrorCode } from '../../../contract/errors.ts';
import type { Tx } from '../../../kernel/data/db.ts';
import { lockShared } from '../../../kernel/data/locks.ts';
import { Overloaded } from '../../../kernel/overloaded.ts';
import type { ProofVerifier, VerifiedClient } from '../clients/verify-credential.ts';
import type { DraftToken } from '../draft-token.ts';
import { createLockClient } from '../eligibility.ts';
import type { TokenDeps } from '../feature.ts';
import type { Grant, IssuedToken, Mint } from '../grant.ts';
import { type PossessionChecks, usedProof } from '../possession.ts';
import type { LimitScopes } from '../scope-limit.ts';
import { createAuthentication } from './authenticate.ts';
import { type AuthenticatedRequest, applyQuota, authorize } from './authorize.ts';
import { respond } from './decision.ts';
import { createExternalIssue } from './external-assertion.ts';
import { createIssueQueues, type IssueBatch } from './issue-queues.ts';
import { type ClientLock, lockClients } from './lock-clients.ts';
import { createRequestParser, type ParsedRequest, type TokenHttpRequest } from './parse.ts';
import { record } from './record.ts';

export interface TokenEndpoint {
  issue(request: TokenHttpRequest): Promise<IssuedToken>;
  /** The code for a form that does not match the schema. */
  malformed(form: unknown): TokenErrorCode;
  /** Whether it refuses every organization. */
  isOverloaded(): boolean;
}

interface IssueSteps {
  readonly proofs: ProofVerifier;
  readonly mint: Mint;
  readonly draft: DraftToken;
  readonly limitScopes: LimitScopes;
  readonly possession: PossessionChecks;
}

export function createTokenEndpoint(
  deps: TokenDeps,
  grants: readonly [Grant, ...Grant[]],
  { mint, draft, limitScopes, proofs, possession }: IssueSteps,
): TokenEndpoint {
  const { db, clock, ledger, metrics, issuer, checkPlans, exchangeQueue, recordUse } = deps;
  const { parse, malformed } = createRequestParser(grants, issuer);
  const address = `${issuer}/api/v1/token`;
  const prove = async ({ dpop, grant }: ParsedRequest) => {
    const proof = await possession.prove(dpop, address);
    // `prepare` may write before the transaction that uses the proof up.
    const isPrepared = grant.transaction === 'own' && grant.prepare !== undefined;
    if (proof && isPrepared && (await possession.isUsed(proof))) throw usedProof();
    return proof;
  };
  const { authenticate, refuse, provePossession } = createAuthentication(deps, proofs, prove);
  const issueToExternal = createExternalIssue(deps, mint, prove, createLockClient(possession));

  const issueBatch: IssueBatch = (requests, { waiting, agentsToLock }) =>
    db.transaction(async (tx) => {
      const presented = requests.map(({ proof }) => proof);
      if (agentsToLock)
        await lockShared(tx, 'agent', [...presented.map(({ agentId }) => agentId), ...agentsToLock]);
      const clients = await lockClients(tx, presented, {
        now: new Date(clock.now()),
        waiting,
        resources: deps,
        audiences: otherAudiences(requests, issuer),
      });
      const replays = await useKeyProofs(tx, requests, clients, possession);
      const authorized = await authorize(tx, requests, clients, limitScopes, replays);
      const withinQuota = await applyQuota(tx, authorized, { checkPlans, waiting });
      return record(tx, withinQuota, { ledger, draft });
    });
  const queues = createIssueQueues(issueBatch, exchangeQueue, metrics);

  return {
    malformed,
    isOverloaded: () => queues.isOverloaded(),

    async issue(httpRequest) {
      const parsed = parse(httpRequest);
      const external = issueToExternal(parsed);
      if (external) return external;
      const proof = await authenticate(parsed);
      // Before it counts, and before any other work.
      if (queues.isOverloaded(proof.organizationId)) throw new Overloaded();
      // Not before: a client id is public, so counting against it would let anyone lock the client out. A request counts once.
      const { agentId, organizationId, rateLimitPerMinute } = proof;
      await parsed.countAgainst(
        proof.kind === 'public' ? 'address' : { clientId: agentId, organizationId, rateLimitPerMinute },
      );
      const keyProof = await provePossession(parsed, proof);
      // A proof of its own: the stages look up by it, and requests with the same secret share a cached one.
      const request = { ...parsed, proof: { ...proof }, keyProof };
      const result = await queues.issue(request);
      if (result.kind === 'unauthenticated') return refuse(parsed, proof, result);
      if (result.kind !== 'decided') throw new Error(`not decided while waiting for locks: ${result.kind}`);
      if (proof.kind === 'secret') recordUse(proof.credentialId);
      return respond(request, result, metrics);
    },
  };
}

const noReplays: ReadonlySet<AuthenticatedRequest> = new Set();

/** One statement for all proofs of locked clients. Returns the requests whose proof was used before. */
async function useKeyProofs(
  tx: Tx,
  requests: readonly AuthenticatedRequest[],
  clients: readonly ClientLock[],
  { useProofs }: PossessionChecks,
): Promise<ReadonlySet<AuthenticatedRequest>> {
  const bound = requests.flatMap((request, index) =>
    request.keyProof && !request.keyProofUsed && clients[index]?.kind === 'locked'
      ? [{ request, keyProof: request.keyProof }]
      : [],
  );
  if (bound.length === 0) return noReplays;
  const isFirst = await useProofs(
    tx,
    bound.map(({ keyProof }) => keyProof),
  );
  return new Set(bound.flatMap(({ request }, index) => (isFirst[index] ? [] : [request])));
}

/** Of the requests for tokens of the client's own, which depend on the client's own grant. */
function otherAudiences(
  requests: readonly AuthenticatedRequest[],
  issuer: string,
): ReadonlyMap<VerifiedClient, string> {
  const audiences = new Map<VerifiedClient, string>();
  for (const { audience, grant, proof } of requests)
    if (audience !== undefined && audience !== issuer && grant.transaction === 'shared')
      audiences.set(proof, audience);
  return audiences;
}
