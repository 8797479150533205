/** `POST /token` as a list of stages. The stages from `lockClients` to `record` run in one transaction, see issue-queues.ts. */

import type { TokenErrorCode } from '../../../contract/errors.ts';
import { lockShared } from '../../../kernel/data/locks.ts';
import { Overloaded } from '../../../kernel/overloaded.ts';
import type { ProofVerifier, VerifiedProof } from '../clients/verify-credential.ts';
import type { DraftToken } from '../draft-token.ts';
import type { TokenDeps } from '../feature.ts';
import type { Grant, IssuedToken, Mint } from '../grant.ts';
import type { LimitScopes } from '../scope-limit.ts';
import { createAuthentication } from './authenticate.ts';
import { type AuthenticatedRequest, applyQuota, authorize } from './authorize.ts';
import { respond } from './decision.ts';
import { createExternalIssue } from './external-assertion.ts';
import { createIssueQueues, type IssueBatch } from './issue-queues.ts';
import { lockClients } from './lock-clients.ts';
import { createRequestParser, type TokenHttpRequest } from './parse.ts';
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
}

export function createTokenEndpoint(
  deps: TokenDeps,
  grants: readonly [Grant, ...Grant[]],
  { mint, draft, limitScopes, proofs }: IssueSteps,
): TokenEndpoint {
  const { db, clock, ledger, metrics, issuer, checkPlans, exchangeQueue, recordUse } = deps;
  const { parse, malformed } = createRequestParser(grants, issuer);
  const { authenticate, refuse } = createAuthentication(deps, proofs);
  const issueToExternal = createExternalIssue(deps, mint);

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
      const authorized = await authorize(tx, requests, clients, limitScopes);
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
      // A proof of its own: the stages look up by it, and requests with the same secret share a cached one.
      const request = { ...parsed, proof: { ...proof } };
      const result = await queues.issue(request);
      if (result.kind === 'unauthenticated') return refuse(parsed, proof, result);
      if (result.kind !== 'decided') throw new Error(`not decided while waiting for locks: ${result.kind}`);
      if (proof.kind === 'secret') recordUse(proof.credentialId);
      return respond(request, result, metrics);
    },
  };
}

/** Of the requests for tokens of the client's own, which depend on the client's own grant. */
function otherAudiences(
  requests: readonly AuthenticatedRequest[],
  issuer: string,
): ReadonlyMap<VerifiedProof, string> {
  const audiences = new Map<VerifiedProof, string>();
  for (const { audience, grant, proof } of requests)
    if (audience !== undefined && audience !== issuer && grant.transaction === 'shared')
      audiences.set(proof, audience);
  return audiences;
}
