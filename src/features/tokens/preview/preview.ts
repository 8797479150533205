/**
 * Previews a token: the claims that a `client_credentials` token of an agent would have now, or the refusal. It takes the steps of the
 * token endpoint after authentication, without locks. It issues nothing, takes no quota and records nothing.
 */

import { type Caller, tenantOf } from '../../../kernel/caller.ts';
import { fail, TokenError } from '../../../kernel/fail.ts';
import { tokenClaims, tokenTimes } from '../draft-token.ts';
import { requireActive } from '../eligibility.ts';
import { grantClient, quotaRefusal } from '../endpoint/authorize.ts';
import { readAudience } from '../endpoint/parse.ts';
import type { TokenDeps } from '../feature.ts';
import type { BatchedGrant } from '../grant.ts';
import type { PreviewRequest, TokenPreview } from '../schema.ts';
import { type LimitScopes, ownerInactiveReason } from '../scope-limit.ts';
import { type AgentStatus, findAgentStatuses } from '../store.ts';

export type PreviewToken = (caller: Caller, request: PreviewRequest) => Promise<TokenPreview>;

export function createPreview(
  { db, clock, issuer, reachedPlanLimit }: TokenDeps,
  grant: BatchedGrant,
  limitScopes: LimitScopes,
): PreviewToken {
  /** TokenError as the token endpoint would refuse. */
  const claimsFor = async (client: AgentStatus, request: PreviewRequest) => {
    const audience = readAudience(request, issuer, grant.errorCodes.invalidResource);
    requireActive(client);
    const authorized = grant.authorize({
      client: grantClient(client),
      form: { scope: request.scope },
      audience,
    });
    const contents = await limitScopes(db, client, authorized);
    const limit = await reachedPlanLimit(db, client);
    if (limit) throw quotaRefusal(limit);
    const claims = { ...tokenClaims(client, contents), ...tokenTimes(contents, clock.now()) };
    const bound = client.dpopBoundAccessTokens && { cnf: { jkt: null } };
    return { iss: issuer, ...claims, jti: null, credential_id: null, ...bound };
  };

  return async (caller, request) => {
    const agentId = request.agentId.toLowerCase();
    const client = (await findAgentStatuses(db, [agentId])).get(agentId);
    const tenant = tenantOf(caller);
    if (!client || (tenant !== undefined && client.organizationId !== tenant)) return fail('AGENT_NOT_FOUND');
    try {
      return {
        allowed: true,
        claims: await claimsFor(client, request),
        ...(client.dpopBoundAccessTokens && { proofRequired: true }),
      };
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      // Without this the answer would advise a grant, which the agent has.
      const reason = error.reason === ownerInactiveReason ? error.reason : error.message;
      return { allowed: false, error: error.code, reason };
    }
  };
}
