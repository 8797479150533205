/**
 * Client authentication for the guard: of a resource server that introspects with its own credentials (RFC 7662 §2.1). The status of
 * the credential is the one that tokens depend on, so a revoked or rotated secret is refused at once on every node.
 */
import { memoize } from '../../../kernel/data/shared-values.ts';
import type { Identity, TokenRefusal } from '../../../kernel/http/access/identity.ts';
import type { GuardDeps } from '../../../kernel/http/guard.ts';
import type { CountAgainst } from '../../../kernel/http/route.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import { hashOf } from '../../../kernel/secrets.ts';
import type { TokenDeps } from '../feature.ts';
import { scopeLimit } from '../scope-limit.ts';
import { findAgentStatuses, insertAssertions } from '../store.ts';
import { statusQuery, type TokenStatus } from '../token-status.ts';
import { type ClientCredential, findClientCredential, isClientAddress } from './client-credential.ts';
import {
  type AuthenticationFailure,
  authenticationFailure,
  type ProofVerifier,
  usedAssertion,
  type VerifiedAssertion,
  type VerifiedSecret,
  wrongProof,
} from './verify-credential.ts';

type Deps = Pick<TokenDeps, 'db' | 'clock' | 'statuses' | 'recordUse' | 'assertions' | 'grants'>;

export function createClientAuthentication(
  { db, clock, statuses, recordUse, assertions, grants }: Deps,
  { verify, invalidate }: ProofVerifier,
): GuardDeps['authenticateClient'] {
  const refreshGrant = grants.find(({ grantType }) => grantType === 'refresh_token');
  const clientsOfRefreshTokens = refreshGrant?.transaction === 'own' ? refreshGrant.publicClients : undefined;

  /** A client that its assertion names by an address has the agent that the refresh token is for. Undefined when there is none. */
  const withAgent = async (
    proof: ClientCredential,
    refresh_token: string | undefined,
  ): Promise<ClientCredential | undefined> => {
    const clientUri = proof.kind === 'assertion' ? assertions.unverifiedClient(proof.assertion) : undefined;
    if (proof.kind !== 'assertion' || !clientUri || !isClientAddress(clientUri)) return proof;
    const agentId = await clientsOfRefreshTokens?.findAgent({ refresh_token }, clientUri);
    return agentId === undefined ? undefined : { ...proof, agentId };
  };

  /** Undefined when the agent does not exist. */
  const findStatus = async (query: Parameters<typeof statuses.get>[0]): Promise<TokenStatus | undefined> => {
    const status = await statuses.get(query);
    return typeof status === 'string' ? undefined : status;
  };

  const statusBySecret = async (proof: VerifiedSecret): Promise<TokenStatus | AuthenticationFailure> => {
    const { agentId, expiresAt, credentialId } = proof;
    const { query, digest } = lookupOf(proof);
    const status = await findStatus(query);
    const isCurrent =
      status?.credential?.digest === digest &&
      !status.credential.revoked &&
      (expiresAt === null || Date.parse(expiresAt) > clock.now());
    if (!status || !isCurrent) {
      invalidate(proof);
      return authenticationFailure(agentId, wrongProof);
    }
    recordUse(credentialId);
    return status;
  };

  const statusByAssertion = async (
    proof: VerifiedAssertion,
    count: CountAgainst,
  ): Promise<TokenStatus | AuthenticationFailure> => {
    const { agentId, organizationId, rateLimitPerMinute } = proof;
    await count({ clientId: agentId, rateLimitPerMinute });
    const isFirstUse = await insertAssertions(db, [proof]);
    if (!isFirstUse(proof)) return authenticationFailure(agentId, usedAssertion);
    const status = await findStatus(statusQuery({ tokenId: nilUuid, agentId, organizationId }));
    return status ?? authenticationFailure(agentId, wrongProof);
  };

  /** Counts first: an address over its limit costs no further query. */
  const refusal = async (
    { agentId, reason }: AuthenticationFailure,
    count: CountAgainst,
  ): Promise<TokenRefusal> => {
    await count('address');
    const found = (await findAgentStatuses(db, [agentId])).get(agentId);
    return {
      agentId,
      organizationId: found?.organizationId ?? nilUuid,
      reason,
      description: sentence(reason),
    };
  };

  return async (fields, authorization, count) => {
    const found = findClientCredential(fields, authorization);
    const proof = found && (await withAgent(found, fields.token));
    if (!proof) return undefined;
    const verified = await verify(proof);
    if (verified.kind === 'unauthenticated') return refusal(verified, count);
    // `findClientCredential` reads proofs only.
    if (verified.kind === 'public') return undefined;
    const status =
      verified.kind === 'secret' ? await statusBySecret(verified) : await statusByAssertion(verified, count);
    if ('kind' in status) return refusal(status, count);
    return status.agentStatus === 'active'
      ? identityOf(status)
      : refusal(authenticationFailure(status.agentId, `the agent is ${status.agentStatus}`), count);
  };
}

/** A client has no token, so the nil UUID stands for one that is never revoked. */
const lookupOf = memoize(({ agentId, organizationId, credentialId, secretHash }: VerifiedSecret) => ({
  query: statusQuery({ tokenId: nilUuid, agentId, organizationId, credentialId }),
  digest: hashOf(secretHash).toString('hex'),
}));

/** All that the agent may hold: a token that it asks for without `scope` would carry the same. */
const identityOf = memoize((status: TokenStatus): Identity => {
  const { agentId, organizationId, organizationStatus, planTier, rateLimitPerMinute } = status;
  const scopes = new Set(scopeLimit(status, undefined));
  return Object.freeze({
    agentId,
    organizationId,
    organizationStatus,
    planTier,
    rateLimitPerMinute,
    scopes,
    grantableScopes: scopes,
  });
});

const sentence = (reason: string): string => `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
