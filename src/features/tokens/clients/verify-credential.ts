/** Verifies the proof of a client against the database, without locks. */

import type { TokenErrorCode } from '../../../contract/errors.ts';
import { limits } from '../../../contract/limits.ts';
import { createBatcher } from '../../../kernel/concurrency/batcher.ts';
import { createLru } from '../../../kernel/data/lru.ts';
import type { TokenDeps } from '../feature.ts';
import {
  type AgentKeys,
  findAgentKeys,
  findOwnersOfSecrets,
  findPublicClient,
  isAssertionUsed,
  type OwnerOfSecret,
} from '../store.ts';
import { agentIdOf, type ClientCredential, isClientAddress } from './client-credential.ts';

export interface VerifiedSecret extends OwnerOfSecret {
  readonly kind: 'secret';
  readonly agentId: string;
  readonly secretHash: Buffer;
}

export interface VerifiedAssertion {
  readonly kind: 'assertion';
  readonly agentId: string;
  readonly organizationId: string;
  readonly rateLimitPerMinute: number | null;
  readonly keys: AgentKeys['keys'];
  readonly assertionId: string;
  /** The key that signed it. */
  readonly keyId: string;
  readonly expiresAt: Date;
  /** This very request has marked the assertion as used, and runs again because it had to wait for a lock. */
  readonly used?: true;
}

/** A client without credentials. Anyone can send its id: the code or the refresh token is what proves something. */
export interface VerifiedPublic {
  readonly kind: 'public';
  readonly agentId: string;
  readonly organizationId: string;
  readonly rateLimitPerMinute: number | null;
}

export type VerifiedClient = VerifiedSecret | VerifiedAssertion | VerifiedPublic;

/** The proof is wrong, or was revoked or used since it was verified. */
export interface AuthenticationFailure {
  readonly kind: 'unauthenticated';
  readonly agentId: string;
  readonly reason: string;
  /** By default `invalid_client`. */
  readonly code?: TokenErrorCode;
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

export interface ProofVerifier {
  /**
   * A secret that was right within the last minute counts as right: the caller checks that it is still current. The result for such a
   * secret is the same object each time.
   */
  verify(proof: ClientCredential): Promise<VerifiedClient | AuthenticationFailure>;
  /** The next request with this secret is looked up again. */
  invalidate(proof: VerifiedClient): void;
}

interface CachedSecret {
  readonly verified: VerifiedSecret;
  until: number;
}

const maxCachedSecrets = 30_000;
const cachedMs = limits.rateWindowSeconds * 1_000;

type SecretProof = Extract<ClientCredential, { kind: 'secret' }>;
type AssertionProof = Extract<ClientCredential, { kind: 'assertion' }>;
type PublicProof = Extract<ClientCredential, { kind: 'public' }>;

export function createProofVerifier(
  deps: Pick<TokenDeps, 'db' | 'clock' | 'issuer' | 'assertions' | 'metrics'>,
): ProofVerifier {
  const { db, clock, issuer, assertions, metrics } = deps;
  const lookups = { cache: 'client_secrets' } as const;
  const countHit = metrics.counter('service_cache_lookups_total', { ...lookups, result: 'hit' });
  const countMiss = metrics.counter('service_cache_lookups_total', { ...lookups, result: 'miss' });
  // rfc7523bis wants the issuer; older clients send the token endpoint.
  const audiences = [issuer, `${issuer}/api/v1/token`];

  /** Concurrent requests share one query. The organization is not known yet, so the clients take turns. */
  const findOwner = createBatcher({
    name: 'tokens.find-owners',
    run: (proofs: readonly SecretProof[]) => findOwnersOfSecrets(db, proofs, new Date(clock.now())),
    key: ({ agentId }) => agentId,
    maxBatch: 100,
    concurrency: 2,
    maxQueue: 1_000,
    metrics,
  });

  const cache = createLru<CachedSecret>(maxCachedSecrets);
  const keyOf = ({ agentId, secretHash }: SecretProof | VerifiedSecret) =>
    agentId + secretHash.toString('latin1');

  /** An unknown id and a wrong secret take the same steps: the look-up is by both. */
  const verifySecret = async (proof: SecretProof): Promise<VerifiedSecret | AuthenticationFailure> => {
    const key = keyOf(proof);
    const now = clock.now();
    const cached = cache.get(key);
    // A use does not prolong it: a changed rate limit counts after a minute at most.
    if (cached && cached.until > now) {
      countHit();
      return cached.verified;
    }
    countMiss();
    const { agentId, secretHash } = proof;
    const owner = await findOwner(proof);
    if (!owner) return authenticationFailure(agentId, wrongProof);
    const { credentialId, organizationId, rateLimitPerMinute, expiresAt } = owner;
    const verified = {
      kind: 'secret',
      agentId,
      secretHash,
      credentialId,
      organizationId,
      rateLimitPerMinute,
      expiresAt,
    } as const;
    cache.set(key, { verified, until: now + cachedMs });
    return verified;
  };

  const verifyPublic = async ({
    agentId,
    clientId,
  }: PublicProof): Promise<VerifiedPublic | AuthenticationFailure> => {
    const client = await findPublicClient(db, agentId);
    if (!client || !isNamedBy(client.clientUri, clientId)) return authenticationFailure(agentId, wrongProof);
    const { organizationId, rateLimitPerMinute } = client;
    return { kind: 'public', agentId, organizationId, rateLimitPerMinute };
  };

  const verifyAssertion = async ({
    clientId,
    assertion,
    agentId: namedId,
  }: AssertionProof): Promise<VerifiedClient | AuthenticationFailure> => {
    const claimedId = assertions.unverifiedClient(assertion) ?? clientId ?? '';
    const agentId = namedId ?? agentIdOf(claimedId);
    const owner = await findAgentKeys(db, agentId);
    const verified =
      owner &&
      isNamedBy(owner.clientUri, claimedId) &&
      (clientId === undefined || clientId === claimedId) &&
      (await assertions.verify(assertion, owner.keys, { client: claimedId, audiences }));
    if (!verified) return authenticationFailure(agentId, wrongProof);
    if (await isAssertionUsed(db, { agentId, ...verified }))
      return authenticationFailure(agentId, usedAssertion);
    const { organizationId, rateLimitPerMinute, keys } = owner;
    return { kind: 'assertion', agentId, organizationId, rateLimitPerMinute, keys, ...verified };
  };

  return {
    async verify(proof) {
      switch (proof.kind) {
        case 'secret':
          return verifySecret(proof);
        case 'assertion':
          return verifyAssertion(proof);
        case 'public':
          return verifyPublic(proof);
        case 'svid':
        case 'workload':
          return authenticationFailure(agentIdOf(proof.clientId ?? ''), wrongProof);
        case 'invalid':
          return authenticationFailure(proof.agentId, proof.problem);
      }
    },

    invalidate(proof) {
      const cached = proof.kind === 'secret' ? cache.get(keyOf(proof)) : undefined;
      if (cached) cached.until = 0;
    },
  };
}

/**
 * A client that came by a document is named by its address, and its code or refresh token then tells the agent. So it has no other grant:
 * with the id of its agent it would get tokens of its own, which every consent of a member would give to a stranger.
 */
const isNamedBy = (clientUri: string | null, clientId: string): boolean =>
  clientUri === null ? !isClientAddress(clientId) : clientUri === clientId;
