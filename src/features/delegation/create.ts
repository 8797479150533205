/** Creates a delegation: a new chain, or a link below the chain of a delegated caller. */
import { limits } from '../../contract/limits.ts';
import { scopes as allScopes } from '../../contract/scopes.ts';
import { audienceOf } from '../../kernel/audience.ts';
import type { Caller, Delegation } from '../../kernel/caller.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import {
  type Chain,
  delegatedAudiences,
  delegatedScopes,
  type Link,
  lastLink,
  requireActive,
  withStatus,
} from './chain.ts';
import { createDelegationTokens } from './delegation-token.ts';
import type { ChainAgent, DelegationDeps } from './deps.ts';
import { eventSubject } from './event-subject.ts';
import type { CreatedDelegation, NewDelegation } from './schema.ts';
import { findChain, insertLink, lockTree } from './store.ts';

export type CreateDelegation = (caller: Caller, wanted: NewDelegation) => Promise<CreatedDelegation>;

interface LockedAgents {
  readonly delegator: ChainAgent;
  /** The agent whose scopes are delegated: the delegator, or for a delegated caller the subject of its chain. */
  readonly subject: ChainAgent | undefined;
}

export function createCreateDelegation(deps: DelegationDeps): CreateDelegation {
  const { db, clock, ids, ledger, metrics, issuer, lockAgents, count } = deps;
  const tokens = createDelegationTokens(deps);

  /** Agents are locked before the tree, as in every transaction that locks both. */
  const lockChainAgents = async (tx: Tx, caller: Caller, delegateeId: string): Promise<LockedAgents> => {
    const subjectId = caller.delegation?.subjectId ?? caller.agentId;
    const agents = await lockAgents(tx, [...new Set([caller.agentId, delegateeId, subjectId])]);
    const [delegator, delegatee] = [agents.get(caller.agentId), agents.get(delegateeId)];
    // It was active when the guard admitted it; it may have been suspended since.
    if (delegator?.status !== 'active') fail('UNAUTHORIZED', { message: 'Your agent is not active.' });
    if (delegatee?.organizationId !== delegator.organizationId) fail('AGENT_NOT_FOUND');
    if (delegatee.status !== 'active')
      fail('AGENT_NOT_ACTIVE', { message: `The delegatee is ${delegatee.status}.` });
    return { delegator, subject: agents.get(subjectId) };
  };

  /** The chain of the caller's own token: the new link is added to it. */
  const lockParent = async (tx: Tx, { chainIds }: Delegation): Promise<Chain> => {
    await lockTree(tx, String(chainIds[0]), 'shared');
    const chain = (await findChain(tx, String(chainIds.at(-1)))) ?? fail('DELEGATION_NOT_FOUND');
    const parent = lastLink(chain);
    requireActive(parent, clock.now());
    if (!parent.allowRedelegation)
      fail('FORBIDDEN', { message: 'This delegation may not be passed on: allowRedelegation is false.' });
    if (parent.depth >= limits.delegation.maxDepth) {
      fail('FORBIDDEN', {
        message: `A chain has at most ${limits.delegation.maxDepth} links, and this one has them all.`,
        details: { depth: parent.depth, maxDepth: limits.delegation.maxDepth },
      });
    }
    return chain;
  };

  /** The end of the new link: it leaves at least one full second for a token. */
  const expiryOf = (now: number, expiresIn: number, parent: Link | undefined): string => {
    const expiresAt = Math.min(now + expiresIn * 1000, parent ? Date.parse(parent.expiresAt) : Infinity);
    if (Math.floor(expiresAt / 1000) <= Math.floor(now / 1000)) fail('DELEGATION_EXPIRED');
    return new Date(expiresAt).toISOString();
  };

  /** Refuses a link that could never be redeemed. */
  const draftLink = (
    caller: Caller,
    { delegator, subject }: LockedAgents,
    wanted: NewDelegation,
    above: Chain | undefined,
  ): Link => {
    const now = clock.now();
    const chainId = ids.uuid();
    const parent = above && lastLink(above);
    const delegable = delegatedScopes([{ scopes: [...caller.scopes] }, ...(above ?? [])], subject);
    refuseExceeding('scopes', wanted.scopes, delegable);
    const resource = readResources(wanted.resource, issuer);
    if (above) refuseExceeding('resource', resource ?? [issuer], delegatedAudiences(above, issuer));
    return {
      chainId,
      parentChainId: parent?.chainId ?? null,
      rootChainId: parent?.rootChainId ?? chainId,
      path: [...(parent?.path ?? []), chainId],
      depth: (parent?.depth ?? 0) + 1,
      organizationId: delegator.organizationId,
      subjectId: parent?.subjectId ?? delegator.agentId,
      delegatorId: delegator.agentId,
      delegateeId: wanted.delegateeId.toLowerCase(),
      scopes: allScopes.filter((scope) => wanted.scopes.includes(scope)),
      resource,
      purpose: wanted.purpose ?? null,
      allowRedelegation: wanted.allowRedelegation,
      createdAt: new Date(now).toISOString(),
      expiresAt: expiryOf(now, wanted.expiresIn, parent),
      revokedAt: null,
    };
  };

  return async (caller, wanted) => {
    const delegateeId = wanted.delegateeId.toLowerCase();
    if (delegateeId === caller.agentId) {
      throw validationError('body', [
        { in: 'body', field: 'delegateeId', message: 'must be another agent than your own' },
      ]);
    }
    return db.transaction(async (tx) => {
      const agents = await lockChainAgents(tx, caller, delegateeId);
      const above = caller.delegation && (await lockParent(tx, caller.delegation));
      const link = draftLink(caller, agents, wanted, above);
      await insertLink(tx, link);
      await ledger.record(tx, caller, 'delegation.created', eventSubject(link));
      tx.afterCommit(() => {
        metrics.count('service_delegation_chains_created_total', {});
        count('delegations_created', agents.delegator);
      });
      return { ...withStatus(link, clock.now()), delegationToken: await tokens.sign(link) };
    });
  };
}

function readResources(resources: readonly string[] | null | undefined, issuer: string): string[] | null {
  if (!resources) return null;
  const audiences = resources.map((resource) => audienceOf(resource, issuer));
  const problems = audiences.flatMap((audience, index) =>
    audience === undefined
      ? [
          {
            in: 'body',
            field: `resource[${index}]`,
            message: 'must be an absolute http(s) URI without a fragment',
          },
        ]
      : [],
  );
  if (problems.length > 0) throw validationError('body', problems);
  return [...new Set(audiences as string[])];
}

function refuseExceeding(
  field: 'scopes' | 'resource',
  requested: readonly string[],
  allowed: readonly string[],
): void {
  const exceeded = requested.filter((word) => !allowed.includes(word));
  if (exceeded.length === 0) return;
  fail('DELEGATION_SCOPE_EXCEEDED', {
    message: `${field} may name only what you can lend: ${allowed.join(', ') || 'nothing'}.`,
    details: { requested, allowed, exceeded },
  });
}
