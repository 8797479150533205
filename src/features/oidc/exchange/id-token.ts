/**
 * An agent's identity for somebody else to verify: clouds that trust this instance as an OpenID provider. It is no access
 * token here: our own API wants another `typ`, and its audience is never us.
 */
import type { Caller } from '../../../kernel/caller.ts';
import { fail } from '../../../kernel/fail.ts';
import { validationError } from '../../../kernel/http/input/validation.ts';
import type { OidcDeps } from '../deps.ts';
import { tokenType } from './request.ts';
import { type IdTokenRequest, type IdTokenResponse, idTokenSeconds } from './schema.ts';

export type IssueIdToken = (caller: Caller, asked: IdTokenRequest) => Promise<IdTokenResponse>;

export function createIdTokens(deps: OidcDeps): IssueIdToken {
  const { db, clock, ids, ledger, metrics, signer, issuer, lockEligibility } = deps;

  return async (caller, { audience, ttl }) => {
    refuseOurselves(audience, issuer);
    const expiresIn = secondsOf(ttl);
    const { agentId, organizationId } = caller;
    const issuedAt = Math.floor(clock.now() / 1000);
    const tokenId = ids.uuidV7(clock.now());
    const claims = {
      sub: agentId,
      aud: audience,
      iat: issuedAt,
      exp: issuedAt + expiresIn,
      jti: tokenId,
      organization_id: organizationId,
    };
    const id_token = await signer.sign(claims, 'JWT');
    await db.transaction(async (tx) => {
      // Held, so that of a suspension and this one comes first.
      const standing = await lockEligibility(tx, agentId);
      if (!standing || standing.problem !== undefined) fail('AGENT_NOT_ACTIVE');
      const metadata = { tokenId, audience, expiresIn };
      await ledger.record(tx, caller, 'id_token.issued', { organizationId, agentId, metadata });
      tx.afterCommit(() => metrics.count('service_oidc_tokens_issued_total', {}));
    });
    return { id_token, issued_token_type: tokenType('id_token'), expires_in: expiresIn, audience };
  };
}

/** A form's fields are text, whatever they mean. */
function secondsOf(ttl: string | undefined): number {
  const seconds = ttl === undefined ? idTokenSeconds.default : Number(ttl);
  const { min, max } = idTokenSeconds;
  if (seconds < min || seconds > max) throw problem('ttl', `must be from ${min} to ${max} seconds`);
  return seconds;
}

function refuseOurselves(audience: string, issuer: string): void {
  const same = URL.canParse(audience) && new URL(audience).href === new URL(issuer).href;
  if (same) throw problem('audience', 'is this instance itself; for its own API use the access token');
}

const problem = (field: string, message: string) => validationError('body', [{ in: 'body', field, message }]);
