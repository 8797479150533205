/** The scopes that a trust policy gives for the audience of a request. */

import type { TokenErrorCode } from '../../../contract/errors.ts';
import type { Tx } from '../../../kernel/data/db.ts';
import { failToken } from '../../../kernel/fail.ts';
import type { NoAudienceScopes } from '../../resources/audience-scopes.ts';
import type { WorkloadIdentityDeps } from '../feature.ts';
import { entryOf } from '../policies/resource-entries.ts';
import type { TrustPolicy } from '../schema.ts';
import type { RefusalCodes } from './request.ts';

export interface TargetScopes {
  readonly scopes: readonly string[];
  /** The error code for a scope outside these. */
  readonly code: TokenErrorCode;
}

const noTarget = 'this agent gets no token for this API';

const reasons: Readonly<Record<NoAudienceScopes, string>> = {
  unregistered: 'the audience is no registered API, or the agent has no grant for it',
  deleted: 'the API was deleted',
  ungranted: 'the agent has no grant for the API',
  ownerInactive: 'the organization that owns the API is not active',
};

export function createTargetScopes({
  issuer,
  findGrant,
  audienceScopesOf,
}: Pick<WorkloadIdentityDeps, 'issuer' | 'findGrant' | 'audienceScopesOf'>) {
  /** The client is not told why it gets no token for a resource; the audit log has the reason. */
  const refuse = (reason: string) => failToken('invalid_target', noTarget, reason);

  return async (
    tx: Tx,
    policy: TrustPolicy,
    audience: string | undefined,
    codes: RefusalCodes,
  ): Promise<TargetScopes> => {
    const own = { scopes: policy.scopes, code: codes.scope };
    if (audience === undefined || audience === issuer) return own;
    const grant = await findGrant(tx, policy.agentId, audience);
    const found = audienceScopesOf(grant, policy.organizationId);
    if (found.kind === 'own') return own;
    const entry = entryOf(policy, audience);
    if (found.kind !== 'unregistered' && !entry) return refuse('the trust policy does not name the API');
    if (found.kind !== 'granted') return refuse(reasons[found.kind]);
    const scopes = (entry?.scopes ?? []).filter((scope) => found.scopes.includes(scope));
    if (scopes.length === 0)
      failToken(
        'invalid_scope',
        'invalid scope: the agent holds none of the scopes that the trust policy gives',
      );
    return { scopes, code: 'invalid_scope' };
  };
}
