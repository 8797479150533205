/**
 * Client authentication, before anything else a token request does: outside any transaction, lock or queue for the grant. The
 * request is counted here, against the client when its proof is good and against the address otherwise, so neither a
 * flood of wrong secrets nor a slow Redis holds a transaction or an agent's lock. The transaction that issues checks the proof again.
 */
import { limits } from '../../contract/limits.ts';
import type { Origin } from '../../kernel/caller.ts';
import { createBatcher } from '../../kernel/concurrency/batcher.ts';
import { createLru } from '../../kernel/data/lru.ts';
import { failToken } from '../../kernel/fail.ts';
import type { CountAgainst } from '../../kernel/http/route.ts';
import { nilUuid } from '../../kernel/ids.ts';
import { type Claim, type ClaimOf, type ProvenClaim, usedAssertion, wrongProof } from './claim.ts';
import type { TokenDeps } from './deps.ts';
import { findOrganizationsOfClients, findStandings, isAssertionUsed } from './store.ts';

export interface AuthenticatedClient {
  readonly organizationId: string;
  readonly claim: ProvenClaim;
}

interface Asked {
  readonly origin: Origin;
  readonly countAgainst: CountAgainst;
}

export interface Authenticate {
  /** TokenError `invalid_client` unless the proof is good. Counts the request. */
  authenticate(asked: Asked, claim: Claim): Promise<AuthenticatedClient>;
  /** Counts against the address unless the request was counted, records the refusal, and throws `invalid_client`. */
  refuse(asked: Asked, claim: Claim, failure: string): Promise<never>;
}

/**
 * A secret that was right within the last minute. It saves the look-up, and decides only against whom the request counts: the
 * transaction checks the secret again, and one that was revoked since is dropped here.
 */
interface CachedSecret {
  readonly organizationId: string;
  until: number;
}

const cachedSecrets = 30_000;
const cachedMs = limits.rateWindowSeconds * 1_000;

export function createAuthenticate({ db, clock, recordRefusal }: TokenDeps): Authenticate {
  /** Concurrent requests share one query. */
  const findOrganization = createBatcher({
    run: (claims: readonly ClaimOf<'secret'>[]) =>
      findOrganizationsOfClients(db, claims, new Date(clock.now())),
    maxBatch: 100,
    concurrency: 2,
    maxQueue: 1_000,
  });

  const cache = createLru<CachedSecret>(cachedSecrets);
  const keyOf = ({ agentId, secretHash }: ClaimOf<'secret'>) => agentId + secretHash.toString('latin1');

  /** An unknown id and a wrong secret take the same steps: the look-up is by both. */
  const bySecret = async (claim: ClaimOf<'secret'>): Promise<AuthenticatedClient | string> => {
    const key = keyOf(claim);
    const now = clock.now();
    const cached = cache.get(key);
    if (cached && cached.until > now) {
      cached.until = now + cachedMs;
      return { organizationId: cached.organizationId, claim };
    }
    const organizationId = await findOrganization(claim);
    if (organizationId === undefined) return wrongProof;
    cache.set(key, { organizationId, until: now + cachedMs });
    return { organizationId, claim };
  };

  /** A secret that turned out to be revoked is looked up again next time, and so counts against the address. */
  const invalidate = (claim: Claim) => {
    const cached = claim.kind === 'secret' ? cache.get(keyOf(claim)) : undefined;
    if (cached) cached.until = 0;
  };

  /** Its signature is checked already. */
  const byAssertion = async (claim: ClaimOf<'assertion'>): Promise<AuthenticatedClient | string> =>
    (await isAssertionUsed(db, claim)) ? usedAssertion : { organizationId: claim.organizationId, claim };

  const check = (claim: Claim): Promise<AuthenticatedClient | string> => {
    switch (claim.kind) {
      case 'secret':
        return bySecret(claim);
      case 'assertion':
        return byAssertion(claim);
      case 'unusable':
        return Promise.resolve(claim.problem);
    }
  };

  const refuse: Authenticate['refuse'] = async (asked, claim, failure) => {
    const { agentId } = claim;
    invalidate(claim);
    await asked.countAgainst('address');
    const found = (await findStandings(db, [agentId])).get(agentId);
    const organizationId = found?.organizationId ?? nilUuid;
    await recordRefusal({
      actor: asked.origin,
      type: 'token.refused',
      subject: { organizationId, agentId, outcome: 'failure', metadata: { reason: failure } },
    });
    return failToken('invalid_client', failure);
  };

  return {
    refuse,
    async authenticate(asked, claim) {
      const client = await check(claim);
      if (typeof client === 'string') return refuse(asked, claim, client);
      await asked.countAgainst({ clientId: claim.agentId });
      return client;
    },
  };
}
