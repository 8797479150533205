/** What can be done with a token that was issued: ask about it, and end it. */
import { operatorScope } from '../../contract/scopes.ts';
import { type Caller, isOperator } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import { deepFreeze } from '../../kernel/data/deep-freeze.ts';
import { memoize } from '../../kernel/data/memoize.ts';
import { fail } from '../../kernel/fail.ts';
import type { TokenDeps } from './deps.ts';
import type { Inspect, Inspected } from './inspect.ts';
import type { Introspection } from './schema.ts';
import { insertRevocation, type Standing } from './store.ts';

export interface LiveTokens {
  introspect(caller: Caller, token: string): Promise<Introspection>;
  revoke(caller: Caller, token: string): Promise<void>;
}

export function createLiveTokens(deps: TokenDeps, inspect: Inspect): LiveTokens {
  const { db, clock, ledger, isAdmin, countIntrospection } = deps;

  /** An operator's token is ended by itself or another operator: who may not make one may not end one either. */
  const mayRevoke = async (caller: Caller, { agentId, organizationId, allowedScopes }: Standing) => {
    if (caller.agentId === agentId || isOperator(caller)) return true;
    if (caller.organizationId !== organizationId || allowedScopes.includes(operatorScope)) return false;
    return caller.scopes.has('agents:write') || isAdmin(caller);
  };

  const describe = memoize(({ claims, scopes, delegation }: Inspected) => {
    const { sub, client_id, iat, exp, act, chain_id } = claims;
    const described = {
      active: true,
      sub,
      client_id,
      scope: scopes.join(' '),
      token_type: 'Bearer',
      iat,
      exp,
    };
    return deepFreeze({ ...described, ...(delegation && { act, chain_id }) }) as Introspection;
  });

  return {
    /** Another organization's token looks like one that never was. */
    async introspect(caller, token) {
      countIntrospection(caller);
      const inspected = await inspect(token);
      if (!inspected || inspected.ended || inspected.standing.organizationStatus !== 'active')
        return { active: false };
      const isOwn = inspected.standing.organizationId === caller.organizationId;
      return isOwn || isOperator(caller) ? describe(inspected) : { active: false };
    },

    /** What is unknown, malformed, expired or revoked already is ended as well as it can be. */
    async revoke(caller, token) {
      const inspected = await inspect(token);
      if (!inspected || inspected.ended) return;
      const { claims, standing } = inspected;
      const { agentId, organizationId } = standing;
      if (!(await mayRevoke(caller, standing))) {
        fail('FORBIDDEN', { message: 'This token is not yours to revoke.' });
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
          metadata: { tokenId: claims.jti, scope: claims.scope, expiresAt: revocation.expiresAt },
        });
      });
    },
  };
}
