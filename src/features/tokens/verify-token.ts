/** Verifies access tokens: the signature shows that we issued the token, its current status that it is still valid. */

import { isScope } from '../../contract/scopes.ts';
import { isLoopback } from '../../kernel/audience.ts';
import type { Delegation } from '../../kernel/caller.ts';
import { andThen, type MaybePromise } from '../../kernel/concurrency/maybe-promise.ts';
import { createLru } from '../../kernel/data/lru.ts';
import { deepFreeze, memoize } from '../../kernel/data/shared-values.ts';
import type { Identity, TokenRefusal } from '../../kernel/http/access/identity.ts';
import type { GuardDeps } from '../../kernel/http/guard.ts';
import { anonymous, timeOfUuid } from '../../kernel/ids.ts';
import {
  type AccessTokenClaims,
  agentsEpoch,
  isAccessTokenClaims,
  readDelegation,
  requiredClaims,
  scopesEpoch,
} from './access-token-claims.ts';
import type { TokenDeps } from './feature.ts';
import { scopeLimit } from './scope-limit.ts';
import {
  type CachedAgent,
  type ChainStatus,
  type StatusQuery,
  statusQuery,
  type TargetStatus,
  type TokenStatus,
} from './token-status.ts';

export interface VerifiedToken {
  readonly claims: AccessTokenClaims;
  readonly status: TokenStatus;
  /**
   * Without scopes that the agent may no longer hold; for a delegated token, scopes that the subject may no longer hold. A token for
   * a registered resource, and one whose subject is a person, has all of its scopes or is not valid.
   */
  readonly scopes: readonly string[];
  readonly delegation?: Delegation;
  /** The chain of this delegated token has ended, so the token opens nothing. */
  readonly ended?: NonNullable<Identity['ended']>;
}

/**
 * Undefined for a token that is not ours, expired or revoked, or whose agent is not active; a delegated token whose chain has
 * ended says so. With an audience, tokens for other audiences are undefined too.
 */
export type VerifyToken = (token: string, audience?: string) => MaybePromise<VerifiedToken | undefined>;

export interface TokenVerifier extends Pick<GuardDeps, 'authenticate'> {
  readonly verify: VerifyToken;
  /** The reason why a token is refused. `isFor`: the audience that it should have; by default our own API. */
  explain(token: string, isFor?: (audience: string) => boolean): Promise<TokenRefusal>;
}

/** A token with our signature, expired or not. */
interface SignedToken {
  readonly claims: AccessTokenClaims;
  readonly scopes: readonly string[];
  readonly query: StatusQuery;
}

interface DerivedToken {
  readonly verified: VerifiedToken;
  /** The sum of the epochs that the token depends on, as they are now. */
  readonly epoch: number;
}

/** Enough for the tokens of ten thousand busy agents, at some 3 KB each. */
const maxCachedTokens = 10_000;

export function createTokenVerifier(deps: TokenDeps): TokenVerifier {
  const { clock, signer, statuses, issuer, metrics, resourceIdentifiers } = deps;
  const cache = 'access_tokens';
  const countHit = metrics.counter('service_cache_lookups_total', { cache, result: 'hit' });
  const countMiss = metrics.counter('service_cache_lookups_total', { cache, result: 'miss' });
  const signedTokens = createLru<SignedToken>(maxCachedTokens);
  const isExpired = ({ claims }: SignedToken) => claims.exp * 1000 <= clock.now();

  /** Cached by the token's exact text, so its signature is checked once. Its expiry and status are checked each time. */
  const readSigned = async (token: string): Promise<SignedToken | undefined> => {
    const claims = await signer.verify(token, { typ: 'at+jwt', requiredClaims, allowExpired: true });
    if (!claims || !isAccessTokenClaims(claims)) return undefined;
    const { client_id: agentId, organization_id: organizationId, jti: tokenId } = claims;
    const audience = claims.aud === issuer ? undefined : claims.aud;
    const credentialId = claims.credential_id ?? undefined;
    const delegation = readDelegation(claims);
    const isLocal = resourceIdentifiers === 'verified' && audience !== undefined && isLoopback(audience);
    const audienceOwnerId = isLocal ? organizationId : undefined;
    const ids = { tokenId, agentId, organizationId, credentialId, delegation, audience, audienceOwnerId };
    const signed = {
      claims,
      scopes: claims.scope.split(' ').filter(Boolean),
      query: statusQuery(ids),
    };
    if (!isExpired(signed)) signedTokens.set(token, signed);
    return signed;
  };

  /** A chain ends with the suspension of any of its agents, and stays ended when the agent is reactivated. */
  const chainEnd = (tokenId: string, holder: CachedAgent, chain: ChainStatus): VerifiedToken['ended'] => {
    const { agents, links } = chain;
    if (links.some(({ revoked }) => revoked)) return 'DELEGATION_REVOKED';
    if ([holder, ...agents].some((agent) => !isValidFor(tokenId, agent))) return 'DELEGATION_REVOKED';
    if (links.some(({ expiresAt }) => Date.parse(expiresAt) <= clock.now())) return 'DELEGATION_EXPIRED';
    return undefined;
  };

  const derived = new WeakMap<StatusQuery, DerivedToken>();
  /** Derived once per status; many requests share it. */
  const derive = ({ claims, scopes, query }: SignedToken, status: TokenStatus): DerivedToken => {
    const before = derived.get(query);
    if (before?.verified.status === status) return before;
    const { delegation, tokenId } = query;
    const verified = deepFreeze({
      claims,
      status,
      scopes: status.target
        ? scopesWithin(status.target, tokenId, scopes)
        : ownScopesWithin(scopeLimit(ownerOf(query, status), delegation), scopes, delegation),
      ...(delegation && { delegation }),
    });
    const made = { verified, epoch: epochOf(status, scopes) };
    derived.set(query, made);
    return made;
  };

  const verify: VerifyToken = (token, audience) => {
    const cached = signedTokens.get(token);
    if (cached) countHit();
    else countMiss();
    return andThen(cached ?? readSigned(token), (signed) => {
      if (!signed || (audience !== undefined && signed.claims.aud !== audience)) return undefined;
      if (isExpired(signed) && !signed.query.delegation) return undefined;
      return andThen(statuses.get(signed.query), (status) => verifyStatus(signed, status));
    });
  };

  const verifyStatus = (
    signed: SignedToken,
    status: TokenStatus | 'revoked' | undefined,
  ): MaybePromise<VerifiedToken | undefined> => {
    const { tokenId } = signed.query;
    if (!status || status === 'revoked') return undefined;
    const { verified, epoch } = derive(signed, status);
    const ended = status.chain && chainEnd(tokenId, status, status.chain);
    if (!ended && (status.credential?.revoked || !isValidFor(tokenId, status))) return undefined;
    if (isExpired(signed) && !ended) return undefined;
    if (ended) return { ...verified, ended };
    // Callers refuse the token of an organization that is not active, each with an answer of its own.
    if (status.organizationStatus === 'active' && hasEnded(signed, epoch)) return undefined;
    const isWhole = status.target !== undefined || isOfPerson(verified.delegation);
    if (isWhole && verified.scopes.length === 0 && !isForDetails(signed, status)) return undefined;
    if (!status.target) return verified;
    const { organizationId: ownerId } = status.target;
    // The status has the organization of the agent; a shared resource belongs to another one.
    if (ownerId === status.organizationId) return verified;
    return statuses.isActive(ownerId).then((isOwnerActive) => (isOwnerActive ? verified : undefined));
  };

  return {
    verify,
    authenticate: createAuthenticate(verify, issuer),
    async explain(token, isFor = (audience) => audience === issuer) {
      const signed = signedTokens.get(token) ?? (await readSigned(token));
      if (!signed) return { ...anonymous, reason: 'not one of ours' };
      const { client_id: agentId, organization_id: organizationId, aud, exp } = signed.claims;
      const refused = (reason: string, description?: string) => ({
        agentId,
        organizationId,
        reason,
        ...(description !== undefined && { description }),
      });
      if (!isFor(aud))
        return refused('for another audience', `The access token is for another audience: ${aud}`);
      if (isExpired(signed)) return refused('expired', `The access token expired at ${timeOf(exp)}.`);
      const status = await statuses.get(signed.query);
      return refused('revoked, or of an agent that is not active', describeInvalid(signed, status));
    },
  };
}

/** Whether one of the epochs that the token depends on has grown. A token of an earlier version is judged by its time alone. */
const hasEnded = ({ claims }: SignedToken, epoch: number): boolean =>
  claims.epoch !== undefined && epoch > claims.epoch;

/** As draft-token.ts adds them. */
const epochOf = (status: TokenStatus, scopes: readonly string[]): number =>
  agentsEpoch(status, status.chain?.agents) + (status.target ? scopesEpoch(status.target.epochs, scopes) : 0);

/** Undefined when the agent does not exist. */
function describeInvalid(
  signed: SignedToken,
  status: TokenStatus | 'revoked' | undefined,
): string | undefined {
  if (status === 'revoked') return 'The access token was revoked.';
  if (!status) return undefined;
  if (status.agentStatus !== 'active') return `The agent of the access token is ${status.agentStatus}.`;
  if (!isValidFor(signed.query.tokenId, status))
    return 'The access token was issued before its agent was suspended. Get a new one.';
  if (hasEnded(signed, epochOf(status, signed.scopes)))
    return 'The access token was issued before its agent or its organization was suspended. Get a new one.';
  return status.credential?.revoked
    ? 'The credential that the access token was issued with was revoked. Get a new token with another credential.'
    : undefined;
}

/** Seconds since 1970 as an ISO time without milliseconds. */
const timeOf = (seconds: number): string =>
  new Date(Math.max(seconds, 0) * 1000).toISOString().replace('.000Z', 'Z');

/** The agent whose scopes the token carries: its holder, or the subject of its delegation. */
function ownerOf({ delegation, otherAgentIds }: StatusQuery, status: TokenStatus): CachedAgent {
  const index = delegation ? otherAgentIds.indexOf(delegation.subjectId) : -1;
  return status.chain?.agents[index] ?? status;
}

/**
 * All scopes of a resource's token, or none when it carries one that its owner does not hold now, or that its owner got after the
 * token was issued: a token that ended with a scope stays ended when the scope is granted again.
 */
function scopesWithin(
  { deleted, held }: TargetStatus,
  tokenId: string,
  scopes: readonly string[],
): readonly string[] {
  const issuedAt = timeOfUuid(tokenId);
  const isHeld = (scope: string) =>
    Object.hasOwn(held, scope) && issuedAt > Date.parse(held[scope] as string);
  return !deleted && scopes.every(isHeld) ? scopes : [];
}

/** A token without scopes whose details say what it is for. The person must still be able to lend something there. */
const isForDetails = ({ claims }: SignedToken, { target }: TokenStatus): boolean =>
  claims.scope === '' &&
  claims.authorization_details !== undefined &&
  target?.deleted === false &&
  Object.keys(target.held).length > 0;

const isOfPerson = (delegation: Delegation | undefined): boolean => delegation?.subjectType === 'person';

/** Of our own API. A token of a person ends with the first scope that the person may no longer lend. */
function ownScopesWithin(
  limit: readonly string[],
  scopes: readonly string[],
  delegation: Delegation | undefined,
): readonly string[] {
  const held = scopes.filter((scope) => limit.includes(scope));
  return isOfPerson(delegation) && held.length < scopes.length ? [] : held;
}

/** The agent is active, and the token was issued after the agent's last suspension. */
const isValidFor = (tokenId: string, { agentStatus, tokensEndedAt }: CachedAgent): boolean =>
  agentStatus === 'active' && (tokensEndedAt === null || timeOfUuid(tokenId) > Date.parse(tokensEndedAt));

/** For the guard, which checks the organization itself: its suspension has a code of its own. */
function createAuthenticate(verify: VerifyToken, issuer: string): GuardDeps['authenticate'] {
  const identityOf = memoize((verified: VerifiedToken): Identity => {
    const { claims, status, delegation, ended } = verified;
    const { agentId, organizationId, organizationStatus, planTier, rateLimitPerMinute, allowedScopes } =
      status;
    const scopes = verified.scopes.filter(isScope);
    const { trust_policy_id: trustPolicyId, key_id: keyId, cnf } = claims;
    // The scopes of a workload's policy are not those of its agent: with a token of another subject it can grant none for good.
    const grantable = delegation && trustPolicyId !== undefined ? [] : allowedScopes;
    return Object.freeze({
      agentId,
      organizationId,
      organizationStatus,
      planTier,
      rateLimitPerMinute,
      scopes: new Set(scopes),
      grantableScopes: new Set(scopes.filter((scope) => grantable.includes(scope))),
      tokenId: claims.jti,
      tokenExpiresAt: claims.exp * 1000,
      ...(typeof claims.credential_id === 'string' && { credentialId: claims.credential_id }),
      ...(keyId !== undefined && { keyId: String(keyId) }),
      ...(cnf && { keyThumbprint: cnf.jkt }),
      ...(trustPolicyId !== undefined && { trustPolicyId: String(trustPolicyId) }),
      ...(delegation && { delegation }),
      ...(ended && { ended }),
    });
  });
  return (token) => andThen(verify(token, issuer), (verified) => verified && identityOf(verified));
}
