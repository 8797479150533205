/** Introspection (RFC 7662) and revocation (RFC 7009) of issued tokens. */

import { leastScope, operatorScope } from '../../contract/scopes.ts';
import { type Caller, isOperator } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import { andThen, type MaybePromise } from '../../kernel/concurrency/maybe-promise.ts';
import { deepFreeze, memoize } from '../../kernel/data/shared-values.ts';
import { fail } from '../../kernel/fail.ts';
import { refuseUnidentified, resourceMetadataOf } from '../../kernel/http/access/challenges.ts';
import type { TokenDeps } from './feature.ts';
import type { Introspection } from './schema.ts';
import { insertRevocation } from './store.ts';
import type { TokenStatus } from './token-status.ts';
import type { VerifiedToken, VerifyToken } from './verify-token.ts';

export interface IntrospectionService {
  introspect(caller: Caller, token: string): MaybePromise<Introspection>;
  /** UNAUTHORIZED for an access token, unless the caller has one itself or a session. */
  revoke(caller: Caller | undefined, token: string): Promise<void>;
}

export function createIntrospection(deps: TokenDeps, verify: VerifyToken): IntrospectionService {
  const { db, clock, ledger, issuer, isAdmin, countIntrospection } = deps;

  /** Only an operator, the agent itself included, revokes an operator's token. */
  const mayRevoke = async (caller: Caller, { agentId, organizationId, allowedScopes }: TokenStatus) => {
    if (caller.agentId === agentId || isOperator(caller)) return true;
    if (caller.organizationId !== organizationId || allowedScopes.includes(operatorScope)) return false;
    return caller.scopes.has('agents:write') || isAdmin(caller);
  };

  const describe = memoize(({ claims, scopes, delegation }: VerifiedToken) => {
    const { aud, sub, client_id, organization_id, iat, exp, jti } = claims;
    const { act, chain_id, sub_profile, client_uri, authorization_details, cnf } = claims;
    const described = {
      active: true,
      sub,
      client_id,
      scope: scopes.join(' '),
      token_type: cnf ? 'DPoP' : 'Bearer',
      iat,
      exp,
      aud,
      iss: issuer,
      jti,
      organization_id,
      ...(cnf && { cnf }),
    };
    const person = delegation?.subjectType && {
      sub_profile,
      ...(client_uri !== undefined && { client_uri }),
      ...(authorization_details !== undefined && { authorization_details }),
    };
    return deepFreeze({ ...described, ...(delegation && { act, chain_id }), ...person }) as Introspection;
  });

  return {
    /** A token of another organization looks like an unknown one, unless it is for a resource of the caller's organization. */
    introspect(caller, token) {
      countIntrospection(caller);
      return andThen(verify(token), (verified) => {
        if (!verified || verified.ended || verified.status.organizationStatus !== 'active')
          return { active: false };
        const { organizationId, target } = verified.status;
        const concerned = [organizationId, target?.organizationId].includes(caller.organizationId);
        return concerned || isOperator(caller) ? describe(verified) : { active: false };
      });
    },

    /** Succeeds for a token that is unknown, malformed, expired or revoked already (RFC 7009 §2.2). */
    async revoke(caller, token) {
      const verified = await verify(token);
      if (!verified || verified.ended) return;
      const { claims, status } = verified;
      const { agentId, organizationId } = status;
      if (!caller || (caller.tokenId === undefined && caller.sessionId === undefined))
        return refuseUnidentified(undefined, {
          metadata: resourceMetadataOf(issuer),
          basic: false,
          scope: leastScope,
        });
      if (!(await mayRevoke(caller, status))) {
        fail('FORBIDDEN', {
          message:
            'You can revoke your own tokens. Other tokens of your organization need scope agents:write or the role admin, all others scope admin:orgs.',
        });
      }
      await db.transaction(async (tx) => {
        const revocation = {
          tokenId: claims.jti,
          agentId,
          revokedAt: isoTime(clock),
          expiresAt: new Date(claims.exp * 1000).toISOString(),
        };
        if (!(await insertRevocation(tx, revocation))) return;
        await ledger.record(tx, caller, 'token.revoked', {
          organizationId,
          agentId,
          metadata: {
            tokenId: claims.jti,
            scope: claims.scope,
            audience: claims.aud,
            expiresAt: revocation.expiresAt,
          },
        });
      });
    },
  };
}
