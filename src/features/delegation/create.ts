/** Creates a delegation: a new chain, or a link below a chain whose last delegatee is the caller. */

import { limits } from '../../contract/limits.ts';
import { scopes as allScopes } from '../../contract/scopes.ts';
import { type Caller, type Delegation, workloadTokenEnd } from '../../kernel/caller.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import {
  type Chain,
  delegatedAudiences,
  delegatedScopes,
  eventSubject,
  type Link,
  lastLink,
  requireActive,
  type SubjectType,
  withStatus,
} from './chain.ts';
import { createDelegationTokens } from './delegation-token.ts';
import type { ChainAgent, DelegationDeps } from './feature.ts';
import { createRefuseLending } from './lend-for-another.ts';
import type { CreatedDelegation, NewDelegation } from './schema.ts';
import { findChain, insertLink, lockTree } from './store.ts';
import { agentSubject, type ChainSubject, personSubject } from './subjects.ts';
import { createDelegationTargets, type DelegationTarget, readAudiences, validateTarget } from './target.ts';

export type CreateDelegation = (caller: Caller, wanted: NewDelegation) => Promise<CreatedDelegation>;

interface LockedAgents {
  readonly delegator: ChainAgent;
  /** Whose scopes are delegated: the delegator's, or those of the subject of the chain that is passed on. */
  readonly subject: ChainSubject;
}

/** The chain that the new link is added to. */
interface ParentReference {
  readonly subjectType: SubjectType;
  readonly subjectId: string;
  readonly rootChainId: string;
  readonly chainId: string;
}

export function createCreateDelegation(deps: DelegationDeps): CreateDelegation {
  const { db, clock, ids, ledger, metrics, issuer, lockAgents, findLenders, findPolicyPower, count } = deps;
  const { verifyAccessToken } = deps;
  const refuseLending = createRefuseLending(deps);
  const tokens = createDelegationTokens(deps);
  const resolveTarget = createDelegationTargets(deps);

  /**
   * The chain of a delegated caller's token, or of the delegation token that the caller holds as its delegatee. The latter proves as
   * much: the caller could exchange it. It limits the new link by the chain alone, not by the scopes of the caller's own token.
   */
  const parentOf = async (caller: Caller, parentToken?: string): Promise<ParentReference | undefined> => {
    const { delegation } = caller;
    if (parentToken === undefined) return delegation && referenceOf(delegation);
    if (delegation) {
      const message = 'must be left out: your token is delegated, and passes on its own chain';
      throw validationError('body', [{ in: 'body', field: 'parentToken', message }]);
    }
    const read = (await tokens.read(parentToken)) ?? (await readAccessToken(caller, parentToken));
    const chain = read && (await findChain(db, read.chainId));
    const unknown = () =>
      fail('DELEGATION_NOT_FOUND', {
        message: 'parentToken is no delegation token, and no delegated access token, of your organization.',
      });
    if (!chain) return unknown();
    const { subjectType, subjectId, rootChainId, chainId, organizationId, delegateeId } = lastLink(chain);
    if (organizationId !== caller.organizationId) unknown();
    if (delegateeId !== caller.agentId)
      fail('FORBIDDEN', { message: 'Only its delegatee can pass a delegation on.' });
    return { subjectType, subjectId, rootChainId, chainId };
  };

  /** An access token of the delegatee proves as much as the delegation token; one that is bound to a key, only to the holder of the key. */
  const readAccessToken = async (
    { keyThumbprint }: Caller,
    token: string,
  ): Promise<{ chainId: string } | undefined> => {
    const { claims, delegation } = (await verifyAccessToken(token)) ?? {};
    if (claims?.cnf && claims.cnf.jkt !== keyThumbprint) return undefined;
    const chainId = delegation?.chainIds.at(-1);
    return chainId === undefined ? undefined : { chainId };
  };

  /** Agents are locked before the tree, as in every transaction that locks both. */
  const lockChainAgents = async (
    tx: Tx,
    caller: Caller,
    delegatorId: string,
    delegateeId: string,
    parent: ParentReference | undefined,
  ): Promise<LockedAgents> => {
    const subjectId = parent?.subjectId ?? delegatorId;
    const isPerson = parent?.subjectType === 'person';
    const agentIds = [caller.agentId, delegatorId, delegateeId, ...(isPerson ? [] : [subjectId])];
    const agents = await lockAgents(tx, [...new Set(agentIds)]);
    // It was active when the guard admitted it; it may have been suspended since.
    if (agents.get(caller.agentId)?.status !== 'active')
      fail('UNAUTHORIZED', { message: 'Your agent is not active.' });
    const delegator = agents.get(delegatorId) ?? fail('AGENT_NOT_FOUND');
    if (delegatorId !== caller.agentId) await refuseLending(tx, caller, delegator);
    if (delegator.status !== 'active')
      fail('AGENT_NOT_ACTIVE', { message: `The delegator is ${delegator.status}.` });
    const delegatee = agents.get(delegateeId);
    if (delegatee?.organizationId !== delegator.organizationId) fail('AGENT_NOT_FOUND');
    if (delegatee.status !== 'active')
      fail('AGENT_NOT_ACTIVE', { message: `The delegatee is ${delegatee.status}.` });
    const person = isPerson ? (await findLenders(tx, [subjectId])).get(subjectId) : undefined;
    if (person) return { delegator, subject: personSubject(person) };
    return { delegator, subject: agentSubject(agents.get(subjectId) ?? fail('DELEGATION_NOT_FOUND')) };
  };

  const lockParent = async (tx: Tx, { rootChainId, chainId }: ParentReference): Promise<Chain> => {
    await lockTree(tx, rootChainId, 'shared');
    const chain = (await findChain(tx, chainId)) ?? fail('DELEGATION_NOT_FOUND');
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

  /** The end of the new link: no later than its parent's, and for a workload its token's. It leaves a full second for a token. */
  const expiryOf = (now: number, expiresIn: number, parent: Link | undefined, caller: Caller): string => {
    const parentEnd = parent && Date.parse(parent.expiresAt);
    const expiresAt = Math.min(now + expiresIn * 1000, parentEnd ?? Infinity, workloadTokenEnd(caller));
    if (Math.floor(expiresAt / 1000) <= Math.floor(now / 1000)) fail('DELEGATION_EXPIRED');
    return new Date(expiresAt).toISOString();
  };

  /** The audiences as requested. A chain that is passed on by its token keeps its only audience. */
  const requestedAudiences = ({ resource, parentToken }: NewDelegation, above: Chain | undefined) => {
    if (resource !== undefined || parentToken === undefined || !above) return readAudiences(resource, issuer);
    const [first, ...more] = delegatedAudiences(above, issuer);
    return first === undefined || first === issuer || more.length > 0 ? null : [first];
  };

  /**
   * The scopes of a workload's trust policy, as it is now: its token may be older than the last change. The lock of the caller's agent
   * excludes a change until the commit, and a later change ends the link.
   */
  const lendableByPolicy = async (tx: Tx, caller: Caller): Promise<readonly string[] | undefined> => {
    if (caller.trustPolicyId === undefined) return undefined;
    const { isActive, scopes } = await findPolicyPower(tx, caller);
    if (!isActive)
      fail('FORBIDDEN', { message: 'The trust policy that gave your token is disabled or was deleted.' });
    return scopes;
  };

  /** Refuses a link that could never be redeemed. */
  const authorizeTarget = async (
    tx: Tx,
    caller: Caller,
    { subject }: LockedAgents,
    wanted: NewDelegation,
    above: Chain | undefined,
  ): Promise<DelegationTarget> => {
    const audiences = requestedAudiences(wanted, above);
    // First: the delegatee of a chain must not learn of other grants of its subject.
    if (above) refuseExceeding('resource', audiences ?? [issuer], delegatedAudiences(above, issuer));
    const target = await resolveTarget(tx, subject, audiences, wanted.scopes);
    // A workload has of the agent's grants only those that its trust policy names, and only in tokens for that resource.
    if (caller.trustPolicyId !== undefined && !above && target.registered !== undefined)
      fail('FORBIDDEN', {
        message:
          'A token of a trust policy cannot lend scopes of an API: authenticate with a secret or a key of the agent.',
      });
    const policyScopes = await lendableByPolicy(tx, caller);
    // A grant is the agent's own and is no part of its token. The token of a delegated caller limits it as well.
    const isOwn = subject.id === caller.agentId;
    const isLimitedByToken = caller.delegation || (!above && isOwn && target.registered === undefined);
    const links = [
      ...(isLimitedByToken ? [{ scopes: [...caller.scopes] }] : []),
      // The scopes of a policy are those of the workload's own tokens. They do not limit the chains of others.
      ...(policyScopes && !above ? [{ scopes: [...policyScopes] }] : []),
      ...(above ?? []),
    ];
    refuseExceeding('scopes', wanted.scopes, delegatedScopes(links, target.heldBySubject));
    return target;
  };

  const draftLink = (
    caller: Caller,
    delegator: ChainAgent,
    { resource, registered }: DelegationTarget,
    wanted: NewDelegation,
    above: Chain | undefined,
  ): Link => {
    const now = clock.now();
    const chainId = ids.uuid();
    const parent = above && lastLink(above);
    return {
      chainId,
      parentChainId: parent?.chainId ?? null,
      rootChainId: parent?.rootChainId ?? chainId,
      path: [...(parent?.path ?? []), chainId],
      depth: (parent?.depth ?? 0) + 1,
      organizationId: delegator.organizationId,
      subjectType: parent?.subjectType ?? 'agent',
      subjectId: parent?.subjectId ?? delegator.agentId,
      delegatorType: 'agent',
      delegatorId: delegator.agentId,
      delegateeId: wanted.delegateeId.toLowerCase(),
      scopes: registered ? [...wanted.scopes] : allScopes.filter((scope) => wanted.scopes.includes(scope)),
      resource,
      purpose: wanted.purpose ?? null,
      allowRedelegation: wanted.allowRedelegation,
      origin: caller.sessionId === undefined ? 'api' : 'console',
      createdAt: new Date(now).toISOString(),
      expiresAt: expiryOf(now, wanted.expiresIn, parent, caller),
      revokedAt: null,
      trustPolicyId: caller.trustPolicyId ?? null,
      authorizationDetails: parent?.authorizationDetails ?? null,
    };
  };

  return async (caller, wanted) => {
    const delegateeId = wanted.delegateeId.toLowerCase();
    const delegatorId = wanted.delegatorId?.toLowerCase() ?? caller.agentId;
    if (delegateeId === delegatorId) {
      const other = delegatorId === caller.agentId ? 'your own' : 'the delegator';
      throw validationError('body', [
        { in: 'body', field: 'delegateeId', message: `must be another agent than ${other}` },
      ]);
    }
    if (delegatorId !== caller.agentId && wanted.parentToken !== undefined) {
      const message = 'must be left out with delegatorId: only its delegatee passes a delegation on';
      throw validationError('body', [{ in: 'body', field: 'parentToken', message }]);
    }
    validateTarget(wanted, issuer);
    // Another agent lends its own scopes, and passes nothing on.
    const parent = delegatorId === caller.agentId ? await parentOf(caller, wanted.parentToken) : undefined;
    return db.transaction(async (tx) => {
      const agents = await lockChainAgents(tx, caller, delegatorId, delegateeId, parent);
      const above = parent && (await lockParent(tx, parent));
      const target = await authorizeTarget(tx, caller, agents, wanted, above);
      const link = draftLink(caller, agents.delegator, target, wanted, above);
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

const referenceOf = ({ subjectId, subjectType, chainIds }: Delegation): ParentReference => ({
  subjectType: subjectType ?? 'agent',
  subjectId,
  rootChainId: String(chainIds[0]),
  chainId: String(chainIds.at(-1)),
});

export function refuseExceeding(
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
