/** Every access token is drafted here, just before it is recorded, when all checks have passed. */

import { limits } from '../../contract/limits.ts';
import type { Delegation, Origin } from '../../kernel/caller.ts';
import { failToken } from '../../kernel/fail.ts';
import { timeOfUuid } from '../../kernel/ids.ts';
import { agentsEpoch } from './access-token-claims.ts';
import { type Decision, decision } from './endpoint/decision.ts';
import type { TokenDeps } from './feature.ts';
import type { AssertedActor, AuthorizedToken, IssuedToken } from './grant.ts';
import type { AgentStatus } from './store.ts';

/** An authorized token whose scopes are limited to those that its owner may hold now. */
export interface TokenContents extends Omit<AuthorizedToken, 'scopes' | 'exact'> {
  readonly scope: string;
  /** For a registered resource. */
  readonly resource?: ResourceContents;
  /** The agents of the delegation besides the client. */
  readonly otherAgents: readonly AgentStatus[];
  /** RFC 7638 thumbprint of the key that the token is bound to. */
  readonly keyThumbprint?: string;
}

export interface ResourceContents {
  readonly lifetimeSeconds: number;
  /** The claims that the resource has chosen. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Milliseconds since 1970: the owner has held all scopes of the token since then. */
  readonly heldSince: number;
  /** The sum of the epochs of these scopes. */
  readonly epoch: number;
}

/** TokenError `invalid_grant` when the token would have expired. */
export type DraftToken = (
  client: AgentStatus,
  contents: TokenContents,
  origin: Origin,
  /** The credential that authenticated the client; null when it used no secret. */
  credentialId: string | null,
  /** The key that signed the client's assertion. */
  keyId?: string,
) => Decision;

export const createDraftToken =
  ({
    clock,
    ids,
    signer,
    hasTokenLimit,
  }: Pick<TokenDeps, 'clock' | 'ids' | 'signer' | 'hasTokenLimit'>): DraftToken =>
  (client, contents, origin, credentialId, keyId) => {
    const { agentId, organizationId } = client;
    const { audience, scope, otherAgents, resource, metadata, authorizationDetails, keyThumbprint } =
      contents;
    const now = clock.now();
    const times = tokenTimes(contents, now);
    const expiresIn = times.exp - times.iat;
    // Verifiers with signals compare the time in the id, to the millisecond, with the times of ends; `iat` counts seconds only. They
    // count tokens from shortly after an end as earlier ones, because other nodes with other clocks may have issued them.
    const lastEnd = Math.max(
      tokensEndedAt(client),
      // An organization that was never suspended has ended no tokens.
      client.organizationEpoch > 0 ? Date.parse(client.organizationUpdatedAt) : 0,
      resource?.heldSince ?? 0,
      ...otherAgents.map(tokensEndedAt),
    );
    const tokenId = ids.uuidV7(Math.max(now, lastEnd + limits.signals.issueToleranceMs + 1));
    const proof = { credential_id: credentialId, ...(keyId !== undefined && { key_id: keyId }) };
    const claims = { ...tokenClaims(client, contents), ...times, jti: tokenId, ...proof };
    return decision(
      {
        actor: origin,
        type: 'token.issued',
        subject: {
          organizationId,
          agentId,
          countLater: !hasTokenLimit(client),
          metadata: {
            tokenId,
            scope,
            audience,
            // From the time in the token's id.
            expiresIn: times.exp - Math.floor(timeOfUuid(tokenId) / 1000),
            credentialId,
            ...(keyId && { keyId }),
            ...(keyThumbprint && { keyThumbprint }),
            ...(authorizationDetails && { authorizationDetails }),
            ...metadata,
          },
        },
      },
      tokenResponse(signer.sign(claims, 'at+jwt'), contents, expiresIn),
      // A closed set of values: the scopes of resources are any words.
      resource ? 'resource' : scope,
    );
  };

/** Seconds since 1970. TokenError `invalid_grant` when the token would have expired. */
export function tokenTimes({ notAfter = Infinity, resource }: TokenContents, now: number) {
  const iat = Math.floor(now / 1000);
  const exp = Math.min(iat + (resource?.lifetimeSeconds ?? limits.accessTokenSeconds), notAfter);
  if (exp <= iat) failToken('invalid_grant', 'what this token would rest on has expired');
  return { iat, exp };
}

/** All claims but times and ids. */
export const tokenClaims = (
  client: AgentStatus,
  {
    audience,
    scope,
    delegation,
    assertedActor,
    resource,
    trustPolicyId,
    clientUri,
    authorizationDetails,
    otherAgents,
    keyThumbprint,
  }: TokenContents,
) => ({
  ...resource?.claims,
  aud: audience,
  sub: delegation?.subjectId ?? client.agentId,
  client_id: client.agentId,
  scope,
  organization_id: client.organizationId,
  epoch: agentsEpoch(client, otherAgents) + (resource?.epoch ?? 0),
  ...(delegation && delegationClaims(delegation, assertedActor)),
  ...(trustPolicyId !== undefined && { trust_policy_id: trustPolicyId }),
  ...(clientUri !== undefined && { client_uri: clientUri }),
  ...(authorizationDetails && { authorization_details: authorizationDetails }),
  ...(keyThumbprint !== undefined && { cnf: { jkt: keyThumbprint } }),
});

const tokensEndedAt = (agent: AgentStatus): number =>
  agent.tokensEndedAt === null ? 0 : Date.parse(agent.tokensEndedAt);

/**
 * RFC 8693 §4.1: the current actor is outermost, and earlier actors are nested in it, those of another issuer below ours. For a person, each
 * of ours says what it is.
 */
function delegationClaims(
  { subjectType, actorIds, chainIds }: Delegation,
  assertedActor: AssertedActor | undefined,
) {
  const profile = subjectType && { sub_profile: 'ai_agent' };
  const act = actorIds.reduceRight<object | undefined>(
    (earlier, sub) => ({ sub, ...profile, ...(earlier && { act: earlier }) }),
    assertedActor,
  );
  return {
    ...(subjectType && { sub_profile: subjectType }),
    act,
    chain_id: chainIds.at(-1),
    chain_path: chainIds,
  };
}

async function tokenResponse(
  signing: Promise<string>,
  { scope, refreshToken, authorizationDetails, keyThumbprint }: TokenContents,
  expiresIn: number,
): Promise<IssuedToken> {
  const tokenType = keyThumbprint === undefined ? 'Bearer' : 'DPoP';
  const issued = {
    access_token: await signing,
    token_type: tokenType,
    expires_in: expiresIn,
    scope,
  } as const;
  if (refreshToken === undefined && !authorizationDetails) return issued;
  return {
    ...issued,
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    ...(authorizationDetails && { authorization_details: authorizationDetails }),
  };
}
