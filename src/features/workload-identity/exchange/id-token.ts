/**
 * ID tokens, which clouds verify that trust this instance as an OpenID provider. An ID token is not an access token: our own API
 * requires another `typ`, and the audience is never this instance.
 */

import { type Caller, workloadTokenEnd } from '../../../kernel/caller.ts';
import { fail } from '../../../kernel/fail.ts';
import { validationError } from '../../../kernel/http/input/validation.ts';
import type { WorkloadIdentityDeps } from '../feature.ts';
import { tokenType } from './request.ts';
import { type IdTokenRequest, type IdTokenResponse, idTokenSeconds } from './schema.ts';

export type IssueIdToken = (caller: Caller, request: IdTokenRequest) => Promise<IdTokenResponse>;

export function createIdTokens(deps: WorkloadIdentityDeps): IssueIdToken {
  const { db, clock, ids, ledger, metrics, signer, issuer, lockEligibility } = deps;

  return async (caller, { audience, ttl }) => {
    refuseOwnAudience(audience, issuer);
    const { agentId, organizationId, trustPolicyId } = caller;
    const issuedAt = Math.floor(clock.now() / 1000);
    const requested = ttl === undefined ? idTokenSeconds.default : Number(ttl);
    const secondsLeft = Math.floor(workloadTokenEnd(caller) / 1000) - issuedAt;
    const expiresIn = Math.min(requested, secondsLeft);
    const tokenId = ids.uuidV7(clock.now());
    const claims = {
      sub: agentId,
      aud: audience,
      iat: issuedAt,
      exp: issuedAt + expiresIn,
      jti: tokenId,
      organization_id: organizationId,
      // A relying party can tell a workload from the agent's own secret or key.
      ...(trustPolicyId !== undefined && { trust_policy_id: trustPolicyId }),
    };
    const id_token = await signer.sign(claims, 'JWT');
    await db.transaction(async (tx) => {
      // Under a lock, so that a concurrent suspension commits before or after this event.
      const eligibility = await lockEligibility(tx, agentId);
      if (!eligibility || eligibility.problem !== undefined) fail('AGENT_NOT_ACTIVE');
      const metadata = { tokenId, audience, expiresIn };
      await ledger.record(tx, caller, 'id_token.issued', { organizationId, agentId, metadata });
      tx.afterCommit(() => metrics.count('service_oidc_tokens_issued_total', {}));
    });
    return { id_token, issued_token_type: tokenType('id_token'), expires_in: expiresIn, audience };
  };
}

function refuseOwnAudience(audience: string, issuer: string): void {
  const same = URL.canParse(audience) && new URL(audience).href === new URL(issuer).href;
  if (!same) return;
  const message = 'is this instance itself; for its own API use the access token';
  throw validationError('body', [{ in: 'body', field: 'audience', message }]);
}
