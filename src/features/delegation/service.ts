import { limits } from '../../contract/limits.ts';
import { scopes as allScopes } from '../../contract/scopes.ts';
import { audienceOf } from '../../kernel/audience.ts';
import { type Caller, type Delegation, isOperator } from '../../kernel/caller.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { type Chain, lastOf, lentAudiences, lentScopes, partiesOf, shown, statusOf } from './chain.ts';
import type { DelegationDeps, Party } from './deps.ts';
import type {
  CreatedDelegation,
  DelegationChain,
  DelegationQuery,
  DelegationWithLinks,
  NewDelegation,
  VerifiedDelegation,
} from './schema.ts';
import { findChain, insertLink, type Link, listLinks, lockTree, revokeBelow } from './store.ts';
import { createDelegationTokens } from './token.ts';

export interface DelegationService {
  create(caller: Caller, wanted: NewDelegation): Promise<CreatedDelegation>;
  list(caller: Caller, query: DelegationQuery): Promise<Page<DelegationChain>>;
  get(caller: Caller, chainId: string): Promise<DelegationWithLinks>;
  verify(caller: Caller, token: string): Promise<VerifiedDelegation>;
  revoke(caller: Caller, chainId: string): Promise<void>;
}

interface Parties {
  readonly delegator: Party;
  /** The agent whose scopes are lent: the delegator itself, unless it passes on another agent's delegation. */
  readonly subject: Party | undefined;
}

export function createDelegationService(deps: DelegationDeps): DelegationService {
  const {
    db,
    clock,
    ids,
    ledger,
    metrics,
    issuer,
    findAgents,
    organizationStatusOf,
    lockAgents,
    isAdmin,
    inspect,
    count,
  } = deps;
  const tokens = createDelegationTokens(deps);
  const shownNow = (link: Link) => shown(link, clock.now());

  const refuseEnded = (link: Link) => {
    const status = statusOf(link, clock.now());
    if (status === 'revoked') fail('DELEGATION_REVOKED');
    if (status === 'expired') fail('DELEGATION_EXPIRED');
  };

  /** The chain, if it belongs to the caller's organization. */
  const chainFor = async (from: Queryable, caller: Caller, chainId: string): Promise<Chain> => {
    const chain = await findChain(from, chainId);
    const visible = chain && (isOperator(caller) || lastOf(chain).organizationId === caller.organizationId);
    return visible ? chain : fail('DELEGATION_NOT_FOUND');
  };

  /** Locks the agents first, then the tree: every transaction that needs both takes them in this order. */
  const holdParties = async (tx: Tx, caller: Caller, delegateeId: string): Promise<Parties> => {
    const subjectId = caller.delegation?.subjectId ?? caller.agentId;
    const held = await lockAgents(tx, [...new Set([caller.agentId, delegateeId, subjectId])]);
    const [delegator, delegatee] = [held.get(caller.agentId), held.get(delegateeId)];
    // It was active when the guard let it in; a suspension may have come first.
    if (delegator?.status !== 'active') fail('UNAUTHORIZED', { message: 'Your agent is not active.' });
    if (delegatee?.organizationId !== delegator.organizationId) fail('AGENT_NOT_FOUND');
    if (delegatee.status !== 'active')
      fail('AGENT_NOT_ACTIVE', { message: `The delegatee is ${delegatee.status}.` });
    return { delegator, subject: held.get(subjectId) };
  };

  /** The chain of the caller's own token: the new link is added to it. */
  const holdParent = async (tx: Tx, { chainIds }: Delegation): Promise<Chain> => {
    await lockTree(tx, String(chainIds[0]), 'shared');
    const chain = (await findChain(tx, String(chainIds.at(-1)))) ?? fail('DELEGATION_NOT_FOUND');
    const parent = lastOf(chain);
    refuseEnded(parent);
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

  const resourcesOf = (asked: readonly string[] | null | undefined): string[] | null => {
    if (!asked) return null;
    const read = asked.map((resource) => audienceOf(resource, issuer));
    const problems = read.flatMap((audience, index) =>
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
    return [...new Set(read as string[])];
  };

  /**
   * Narrower than what the caller holds, or equal. Anything that `redeem` would refuse for good is refused here: scopes that
   * the subject does not hold or that cannot be lent, audiences that a link above does not name, and an end that leaves no
   * second for a token.
   */
  const draftLink = (
    caller: Caller,
    { delegator, subject }: Parties,
    wanted: NewDelegation,
    above: Chain | undefined,
  ): Link => {
    const now = clock.now();
    const chainId = ids.uuid();
    const parent = above && lastOf(above);
    const scopes = allScopes.filter((scope) => wanted.scopes.includes(scope));
    const held = lentScopes([{ scopes: [...caller.scopes] }, ...(above ?? [])], subject);
    refuseExceeding('scopes', wanted.scopes, held);
    const resource = resourcesOf(wanted.resource);
    if (above) refuseExceeding('resource', resource ?? [issuer], lentAudiences(above, issuer));
    const expiresAt = Math.min(
      now + wanted.expiresIn * 1000,
      parent ? Date.parse(parent.expiresAt) : Infinity,
    );
    if (Math.floor(expiresAt / 1000) <= Math.floor(now / 1000)) fail('DELEGATION_EXPIRED');
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
      scopes,
      resource,
      purpose: wanted.purpose ?? null,
      allowRedelegation: wanted.allowRedelegation,
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(expiresAt).toISOString(),
      revokedAt: null,
    };
  };

  const mayRevoke = async (caller: Caller, chain: Chain): Promise<boolean> =>
    chain.some(({ delegatorId }) => delegatorId === caller.agentId) ||
    isOperator(caller) ||
    (await isAdmin(caller));

  /** The last link of what this token proves, and the scopes that it carries. */
  const readProof = async (token: string): Promise<{ chainId: string; scopes?: readonly string[] }> => {
    const proven = await tokens.read(token, { expiredToo: true });
    if (proven) return proven;
    const access = await inspect(token);
    const chainId = access?.delegation?.chainIds.at(-1);
    return access && chainId ? { chainId, scopes: access.scopes } : fail('DELEGATION_NOT_FOUND');
  };

  return {
    async create(caller, wanted) {
      const delegateeId = wanted.delegateeId.toLowerCase();
      if (delegateeId === caller.agentId) {
        throw validationError('body', [
          { in: 'body', field: 'delegateeId', message: 'must be another agent than your own' },
        ]);
      }
      return db.transaction(async (tx) => {
        const parties = await holdParties(tx, caller, delegateeId);
        const above = caller.delegation && (await holdParent(tx, caller.delegation));
        const link = draftLink(caller, parties, wanted, above);
        await insertLink(tx, link);
        await ledger.record(tx, caller, 'delegation.created', described(link));
        tx.afterCommit(() => {
          metrics.count('service_delegation_chains_created_total', {});
          count('delegations_created', parties.delegator);
        });
        return { ...shownNow(link), delegationToken: await tokens.sign(link) };
      });
    },

    async list(caller, query) {
      const { rows, total } = await listLinks(db, caller.agentId, query, new Date(clock.now()));
      return pageOf(query, rows.map(shownNow), total);
    },

    async get(caller, chainId) {
      const chain = await chainFor(db, caller, chainId);
      if (
        !partiesOf(chain).includes(caller.agentId) &&
        !isOperator(caller) &&
        !caller.scopes.has('audit:read')
      )
        fail('DELEGATION_NOT_FOUND');
      return { ...shownNow(lastOf(chain)), chain: chain.map(shownNow) };
    },

    async verify(caller, token) {
      const proof = await readProof(token);
      const chain = await chainFor(db, caller, proof.chainId);
      const last = lastOf(chain);
      refuseEnded(last);
      // Nothing is ended by that, but nothing is worth anything while it lasts either.
      if ((await organizationStatusOf(last.organizationId)) !== 'active') fail('ORG_SUSPENDED');
      const agents = await findAgents([last.subjectId]);
      const { chainId, subjectId, delegateeId: actorId, depth, expiresAt } = last;
      const scopes = lentScopes(
        [{ scopes: [...(proof.scopes ?? last.scopes)] }, ...chain],
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
        chain: chain.map(shownNow),
      };
    },

    async revoke(caller, chainId) {
      const chain = await chainFor(db, caller, chainId);
      if (!(await mayRevoke(caller, chain))) {
        fail('FORBIDDEN', {
          message: 'A delegation is ended by whoever gave it or one above it, or by an administrator.',
        });
      }
      const link = lastOf(chain);
      await db.transaction(async (tx) => {
        await lockTree(tx, link.rootChainId, 'exclusive');
        const ended = await revokeBelow(tx, link, new Date(clock.now()).toISOString());
        // Over already: somebody else did it, or time.
        if (ended === 0) return;
        const { organizationId, agentId, metadata } = described(link);
        await ledger.record(tx, caller, 'delegation.revoked', {
          organizationId,
          agentId,
          metadata: { ...metadata, descendants: ended - 1 },
        });
      });
    },
  };
}

function refuseExceeding(
  field: 'scopes' | 'resource',
  requested: readonly string[],
  allowed: readonly string[],
) {
  const exceeded = requested.filter((word) => !allowed.includes(word));
  if (exceeded.length === 0) return;
  fail('DELEGATION_SCOPE_EXCEEDED', {
    message: `${field} may name only what you can lend: ${allowed.join(', ') || 'nothing'}.`,
    details: { requested, allowed, exceeded },
  });
}

/** What the events of a delegation carry; the agent concerned is the one who may act. */
const described = (link: Link) => {
  const { organizationId, chainId, rootChainId, parentChainId, depth, subjectId, delegatorId, delegateeId } =
    link;
  const { scopes, resource, purpose, allowRedelegation, expiresAt } = link;
  return {
    organizationId,
    agentId: delegateeId,
    metadata: {
      chainId,
      parentChainId,
      rootChainId,
      depth,
      subjectId,
      delegatorId,
      delegateeId,
      scopes,
      resource,
      purpose,
      allowRedelegation,
      expiresAt,
    },
  };
};
