import { type Caller, isOperator } from '../../kernel/caller.ts';
import { fail } from '../../kernel/fail.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import {
  agentsOf,
  type Chain,
  delegatedScopes,
  type Link,
  lastLink,
  requireActive,
  withStatus,
} from './chain.ts';
import { type CreateDelegation, createCreateDelegation } from './create.ts';
import { createDelegationTokens } from './delegation-token.ts';
import type { DelegationDeps } from './deps.ts';
import { eventSubject } from './event-subject.ts';
import type { DelegationChain, DelegationQuery, DelegationWithLinks, VerifiedDelegation } from './schema.ts';
import { findChain, listLinks, lockTree, revokeBelow } from './store.ts';

export interface DelegationService {
  readonly create: CreateDelegation;
  list(caller: Caller, query: DelegationQuery): Promise<Page<DelegationChain>>;
  get(caller: Caller, chainId: string): Promise<DelegationWithLinks>;
  verify(caller: Caller, token: string): Promise<VerifiedDelegation>;
  revoke(caller: Caller, chainId: string): Promise<void>;
}

export function createDelegationService(deps: DelegationDeps): DelegationService {
  const { db, clock, ledger, findAgents, organizationStatusOf, isAdmin, verifyAccessToken } = deps;
  const tokens = createDelegationTokens(deps);
  const withCurrentStatus = (link: Link) => withStatus(link, clock.now());

  /** DELEGATION_NOT_FOUND unless the chain belongs to the caller's organization. */
  const chainFor = async (caller: Caller, chainId: string): Promise<Chain> => {
    const chain = await findChain(db, chainId);
    const isVisible =
      chain && (isOperator(caller) || lastLink(chain).organizationId === caller.organizationId);
    return isVisible ? chain : fail('DELEGATION_NOT_FOUND');
  };

  const mayRevoke = async (caller: Caller, chain: Chain): Promise<boolean> =>
    chain.some(({ delegatorId }) => delegatorId === caller.agentId) ||
    isOperator(caller) ||
    (await isAdmin(caller));

  /** The chain that a delegation token or a delegated access token refers to, and the scopes of an access token. */
  const readToken = async (token: string): Promise<{ chainId: string; scopes?: readonly string[] }> => {
    const delegation = await tokens.read(token);
    if (delegation) return delegation;
    const access = await verifyAccessToken(token);
    const chainId = access?.delegation?.chainIds.at(-1);
    return access && chainId ? { chainId, scopes: access.scopes } : fail('DELEGATION_NOT_FOUND');
  };

  return {
    create: createCreateDelegation(deps),

    async list(caller, query) {
      const { rows, total } = await listLinks(db, caller.agentId, query, new Date(clock.now()));
      return pageOf(query, rows.map(withCurrentStatus), total);
    },

    async get(caller, chainId) {
      const chain = await chainFor(caller, chainId);
      if (
        !agentsOf(chain).includes(caller.agentId) &&
        !isOperator(caller) &&
        !caller.scopes.has('audit:read')
      )
        fail('DELEGATION_NOT_FOUND');
      return { ...withCurrentStatus(lastLink(chain)), chain: chain.map(withCurrentStatus) };
    },

    async verify(caller, token) {
      const read = await readToken(token);
      const chain = await chainFor(caller, read.chainId);
      const last = lastLink(chain);
      requireActive(last, clock.now());
      // A suspended organization pauses its chains.
      if ((await organizationStatusOf(last.organizationId)) !== 'active') fail('ORG_SUSPENDED');
      const agents = await findAgents([last.subjectId]);
      const { chainId, subjectId, delegateeId: actorId, depth, expiresAt } = last;
      const scopes = delegatedScopes(
        [{ scopes: [...(read.scopes ?? last.scopes)] }, ...chain],
        agents.get(last.subjectId),
      );
      return {
        valid: true,
        chainId,
        subjectId,
        actorId,
        scopes,
        depth,
        expiresAt,
        chain: chain.map(withCurrentStatus),
      };
    },

    async revoke(caller, chainId) {
      const chain = await chainFor(caller, chainId);
      if (!(await mayRevoke(caller, chain))) {
        fail('FORBIDDEN', {
          message:
            'Only its delegator, a delegator above it in the chain, or an administrator can end a delegation.',
        });
      }
      const link = lastLink(chain);
      await db.transaction(async (tx) => {
        await lockTree(tx, link.rootChainId, 'exclusive');
        const revoked = await revokeBelow(tx, link, new Date(clock.now()).toISOString());
        // It had expired or was revoked before.
        if (revoked === 0) return;
        const { organizationId, agentId, metadata } = eventSubject(link);
        await ledger.record(tx, caller, 'delegation.revoked', {
          organizationId,
          agentId,
          metadata: { ...metadata, descendants: revoked - 1 },
        });
      });
    },
  };
}
