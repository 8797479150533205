/**
 * Client authentication, outside any transaction, lock or queue: neither a flood of wrong secrets nor a slow Redis holds a
 * transaction or an agent's lock. The transaction that issues checks the proof again (lock-clients.ts).
 */
import { limits } from '../../../contract/limits.ts';
import { createBatcher } from '../../../kernel/concurrency/batcher.ts';
import { createLru } from '../../../kernel/data/lru.ts';
import { failToken } from '../../../kernel/fail.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import type { TokenDeps } from '../deps.ts';
import {
  type AgentKeys,
  findAgentKeys,
  findAgentStatuses,
  findOrganizationsOfSecrets,
  isAssertionUsed,
} from '../store.ts';
import { agentIdOf, type ClientProof } from './client-proof.ts';
import { countAgainstAddress } from './count.ts';
import type { ParsedRequest } from './parse.ts';

export type VerifiedProof =
  | {
      readonly kind: 'secret';
      readonly agentId: string;
      readonly organizationId: string;
      readonly secretHash: Buffer;
    }
  | {
      readonly kind: 'assertion';
      readonly agentId: string;
      readonly organizationId: string;
      readonly keys: AgentKeys['keys'];
      readonly assertionId: string;
      readonly expiresAt: Date;
      /** This very request has marked the assertion as used, and runs again because it had to wait for a lock. */
      readonly used?: true;
    };

/** The proof is wrong, or was revoked or used since it was verified. */
export interface AuthenticationFailure {
  readonly kind: 'unauthenticated';
  readonly agentId: string;
  readonly reason: string;
}

export interface Authentication {
  /** TokenError `invalid_client` unless the proof is good; the request then counts against the address. */
  authenticate(request: ParsedRequest): Promise<VerifiedProof>;
  /** For a proof that turned out to be wrong in the transaction. */
  refuse(request: ParsedRequest, proof: VerifiedProof, failure: AuthenticationFailure): Promise<never>;
}

/** The same for an unknown client and a wrong proof. */
export const wrongProof =
  'client authentication failed: check the client id, and that its secret, key or assertion is current';
export const usedAssertion = 'the assertion was used before';

export const authenticationFailure = (agentId: string, reason: string): AuthenticationFailure => ({
  kind: 'unauthenticated',
  agentId,
  reason,
});

/**
 * A secret that was right within the last minute. It saves the look-up, and decides only against which window the request counts: the
 * transaction checks the secret again, and a revoked secret is invalidated here.
 */
interface CachedSecret {
  readonly organizationId: string;
  until: number;
}

const maxCachedSecrets = 30_000;
const cachedMs = limits.rateWindowSeconds * 1_000;

type SecretProof = Extract<ClientProof, { kind: 'secret' }>;
type AssertionProof = Extract<ClientProof, { kind: 'assertion' }>;

export function createAuthentication(deps: TokenDeps): Authentication {
  const { db, clock, issuer, assertions, recordRefusal } = deps;
  const audiences = [issuer, `${issuer}/`, `${issuer}/api/v1/token`];

  /** Concurrent requests share one query. */
  const findOrganization = createBatcher({
    run: (proofs: readonly SecretProof[]) => findOrganizationsOfSecrets(db, proofs, new Date(clock.now())),
    maxBatch: 100,
    concurrency: 2,
    maxQueue: 1_000,
  });

  const cache = createLru<CachedSecret>(maxCachedSecrets);
  const keyOf = ({ agentId, secretHash }: Pick<SecretProof, 'agentId' | 'secretHash'>) =>
    agentId + secretHash.toString('latin1');

  /** An unknown id and a wrong secret take the same steps: the look-up is by both. */
  const organizationOfSecret = async (proof: SecretProof): Promise<string | undefined> => {
    const key = keyOf(proof);
    const now = clock.now();
    const cached = cache.get(key);
    if (cached && cached.until > now) {
      cached.until = now + cachedMs;
      return cached.organizationId;
    }
    const organizationId = await findOrganization(proof);
    if (organizationId !== undefined) cache.set(key, { organizationId, until: now + cachedMs });
    return organizationId;
  };

  const verifySecret = async (proof: SecretProof): Promise<VerifiedProof | AuthenticationFailure> => {
    const { agentId, secretHash } = proof;
    const organizationId = await organizationOfSecret(proof);
    return organizationId === undefined
      ? authenticationFailure(agentId, wrongProof)
      : { kind: 'secret', agentId, organizationId, secretHash };
  };

  const verifyAssertion = async ({
    clientId,
    assertion,
  }: AssertionProof): Promise<VerifiedProof | AuthenticationFailure> => {
    const claimedId = assertions.unverifiedClient(assertion) ?? clientId ?? '';
    const agentId = agentIdOf(claimedId);
    const owner = await findAgentKeys(db, agentId);
    const verified =
      owner &&
      (clientId === undefined || clientId === claimedId) &&
      (await assertions.verify(assertion, owner.keys, { client: claimedId, audiences }));
    if (!verified) return authenticationFailure(agentId, wrongProof);
    if (await isAssertionUsed(db, { agentId, ...verified }))
      return authenticationFailure(agentId, usedAssertion);
    const { organizationId, keys } = owner;
    return { kind: 'assertion', agentId, organizationId, keys, ...verified };
  };

  const verify = (proof: ClientProof): Promise<VerifiedProof | AuthenticationFailure> => {
    switch (proof.kind) {
      case 'secret':
        return verifySecret(proof);
      case 'assertion':
        return verifyAssertion(proof);
      case 'invalid':
        return Promise.resolve(authenticationFailure(proof.agentId, proof.problem));
    }
  };

  /** Counts against the address unless the request was counted, and records the refusal. */
  const refuseClient = async (
    request: ParsedRequest,
    { agentId, reason }: AuthenticationFailure,
  ): Promise<never> => {
    await countAgainstAddress(request);
    const found = (await findAgentStatuses(db, [agentId])).get(agentId);
    const organizationId = found?.organizationId ?? nilUuid;
    await recordRefusal({
      actor: request.origin,
      type: 'token.refused',
      subject: { organizationId, agentId, outcome: 'failure', metadata: { reason } },
    });
    return failToken('invalid_client', reason);
  };

  return {
    async authenticate(request) {
      const verified = await verify(request.proof);
      return verified.kind === 'unauthenticated' ? refuseClient(request, verified) : verified;
    },

    refuse(request, proof, failure) {
      // The next request with a revoked secret is looked up again, and so counts against the address.
      const cached = proof.kind === 'secret' ? cache.get(keyOf(proof)) : undefined;
      if (cached) cached.until = 0;
      return refuseClient(request, failure);
    },
  };
}
