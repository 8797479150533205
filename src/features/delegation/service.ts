import { type Caller, isOperator, tenantOf } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import type { LedgerEntry } from '../../kernel/domain-event.ts';
import { fail } from '../../kernel/fail.ts';
import { timeRangeOf } from '../../kernel/http/input/time-range.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import type { DelegatedAccess } from '../access/schema.ts';
import {
  agentsOf,
  type Chain,
  delegatedAudiences,
  eventSubject,
  type Link,
  lastLink,
  requireActive,
  statusOf,
  withStatus,
} from './chain.ts';
import { type CreateDelegation, createCreateDelegation } from './create.ts';
import { createDelegationTokens } from './delegation-token.ts';
import type { DelegationDeps } from './feature.ts';
import type {
  DelegationChain,
  DelegationQuery,
  DelegationWithLinks,
  DescendantQuery,
  VerifiedDelegation,
} from './schema.ts';
import {
  findChain,
  listDescendants,
  listLinks,
  listReceivedChains,
  lockTree,
  revokeBelow,
  revokeChainsOfPolicy,
} from './store.ts';
import { createSubjectScopes } from './subject-scopes.ts';
import { findSubjects, prefetchGrants } from './subjects.ts';

export interface DelegationService {
  /**
   * Ends the chains that a workload made by the trust policy, with all chains below them. With scopes: only those that begin with
   * scopes beyond these. The caller has locked the agent of the policy.
   */
  endOfPolicy(tx: Tx, caller: Caller, policyId: string, scopes?: readonly string[]): Promise<void>;
  /** The active chains that end with this agent, newest first, with the scopes that it can get by them now. */
  listReceived(agentId: string, limit: number): Promise<DelegatedAccess[]>;
  readonly create: CreateDelegation;
  list(caller: Caller, query: DelegationQuery): Promise<Page<DelegationChain>>;
  get(caller: Caller, chainId: string): Promise<DelegationWithLinks>;
  listDescendants(caller: Caller, chainId: string, query: DescendantQuery): Promise<Page<DelegationChain>>;
  verify(caller: Caller, token: string): Promise<VerifiedDelegation>;
  revoke(caller: Caller, chainId: string): Promise<void>;
}

export function createDelegationService(deps: DelegationDeps): DelegationService {
  const { db, clock, ledger, issuer, organizationStatusOf, roleOf, verifyAccessToken } = deps;
  const tokens = createDelegationTokens(deps);
  const { effectiveScopes } = createSubjectScopes(deps);
  const withCurrentStatus = (link: Link) => withStatus(link, clock.now());

  /** DELEGATION_NOT_FOUND unless the chain belongs to the caller's organization. */
  const chainFor = async (caller: Caller, chainId: string): Promise<Chain> => {
    const chain = await findChain(db, chainId);
    const isVisible =
      chain && (isOperator(caller) || lastLink(chain).organizationId === caller.organizationId);
    return isVisible ? chain : fail('DELEGATION_NOT_FOUND');
  };

  /** The same, and unless the caller is an agent of the chain, or reads the audit log. */
  const readableChain = async (caller: Caller, chainId: string): Promise<Chain> => {
    const chain = await chainFor(caller, chainId);
    const mayRead =
      agentsOf(chain).includes(caller.agentId) || isOperator(caller) || caller.scopes.has('audit:read');
    return mayRead ? chain : fail('DELEGATION_NOT_FOUND');
  };

  const mayRevoke = async (caller: Caller, chain: Chain): Promise<boolean> =>
    chain.some(({ delegatorId }) => delegatorId === caller.agentId) ||
    isOperator(caller) ||
    (await roleOf(caller)) === 'admin';

  /** The chain that a delegation token or a delegated access token refers to, and the content of an access token. */
  const readToken = async (
    token: string,
  ): Promise<{ chainId: string; access?: { scopes: readonly string[]; audience: string } }> => {
    const delegation = await tokens.read(token);
    if (delegation) return delegation;
    const { claims, delegation: carried } = (await verifyAccessToken(token)) ?? {};
    const chainId = carried?.chainIds.at(-1);
    return claims && chainId
      ? { chainId, access: { scopes: claims.scope.split(' '), audience: claims.aud } }
      : fail('DELEGATION_NOT_FOUND');
  };

  return {
    create: createCreateDelegation(deps),

    async list(caller, query) {
      const { rows, total } = await listLinks(
        db,
        { agentId: caller.agentId, tenant: tenantOf(caller) },
        query,
        timeRangeOf(query),
        new Date(clock.now()),
      );
      return pageOf(query, rows.map(withCurrentStatus), total);
    },

    async listReceived(agentId, limit) {
      const chains = await listReceivedChains(db, agentId, new Date(clock.now()), limit);
      const subjectOf = await findSubjects(deps, chains.map(lastLink));
      const prefetched = createSubjectScopes(deps, await prefetchGrants(deps, chains));
      return Promise.all(
        chains.map(async (chain) => {
          const link = lastLink(chain);
          const { chainId, subjectType, subjectId, delegatorType, delegatorId, expiresAt } = link;
          const parties = { subjectType, subjectId, delegatorType, delegatorId };
          const scopes = await prefetched.effectiveScopes(db, chain, subjectOf(link));
          const audiences = delegatedAudiences(chain, issuer);
          return { chainId, ...parties, audiences, scopes, expiresAt };
        }),
      );
    },

    async get(caller, chainId) {
      const chain = await readableChain(caller, chainId);
      const last = lastLink(chain);
      const subject = (await findSubjects(deps, [last]))(last);
      const links: DelegationWithLinks['chain'] = [];
      for (const [index, link] of chain.entries()) {
        const isActive = statusOf(link, clock.now()) === 'active';
        const above = chain.slice(0, index + 1) as unknown as Chain;
        const effective = isActive ? await effectiveScopes(db, above, subject) : [];
        links.push({ ...withCurrentStatus(link), effectiveScopes: effective });
      }
      return { ...(links.at(-1) as (typeof links)[number]), chain: links };
    },

    async listDescendants(caller, chainId, query) {
      const chain = await readableChain(caller, chainId);
      const { rows, total } = await listDescendants(db, lastLink(chain), query, new Date(clock.now()));
      return pageOf(query, rows.map(withCurrentStatus), total);
    },

    async verify(caller, token) {
      const read = await readToken(token);
      const chain = await chainFor(caller, read.chainId);
      const last = lastLink(chain);
      requireActive(last, clock.now());
      // A suspended organization pauses its chains.
      if ((await organizationStatusOf(last.organizationId)) !== 'active') fail('ORG_SUSPENDED');
      const { chainId, subjectId, delegateeId: actorId, depth, expiresAt } = last;
      const subject = (await findSubjects(deps, [last]))(last);
      const { access } = read;
      const effective = await effectiveScopes(db, chain, subject, access && [access.audience]);
      const scopes = access ? effective.filter((scope) => access.scopes.includes(scope)) : effective;
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

    async endOfPolicy(tx, caller, policyId, scopes) {
      const ended = await revokeChainsOfPolicy(tx, policyId, scopes, isoTime(clock));
      const entries = ended.map((link): LedgerEntry => {
        const { metadata, ...subject } = eventSubject(link);
        return {
          actor: caller,
          type: 'delegation.revoked',
          subject: { ...subject, metadata: { ...metadata, policyId } },
        };
      });
      if (entries.length > 0) await ledger.recordAll(tx, entries);
    },

    async revoke(caller, chainId) {
      const chain = await chainFor(caller, chainId);
      if (!(await mayRevoke(caller, chain))) {
        fail('FORBIDDEN', {
          message:
            'Only its delegator, a delegator above it in the chain, an admin of the organization, or an operator (scope admin:orgs) can end a delegation.',
        });
      }
      const link = lastLink(chain);
      await db.transaction(async (tx) => {
        await lockTree(tx, link.rootChainId, 'exclusive');
        const revoked = await revokeBelow(tx, link, new Date(clock.now()).toISOString());
        // It had expired or was revoked before.
        if (revoked === 0) return;
        const { organizationId, agentId, metadata } = eventSubject(link);
        const type = link.delegatorType === 'person' ? 'consent.revoked' : 'delegation.revoked';
        await ledger.record(tx, caller, type, {
          organizationId,
          agentId,
          metadata: { ...metadata, descendants: revoked - 1 },
        });
      });
    },
  };
}
