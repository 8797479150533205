/** Consents: chains that begin with a person. */

import type { AuthorizationDetails } from '../../contract/authorization-details.ts';
import type { Actor, Caller } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import type { AuthorizedToken } from '../tokens/grant.ts';
import { agentsOf, eventSubject, type Link, lastLink, withStatus } from './chain.ts';
import { refuseExceeding } from './create.ts';
import type { DelegationDeps } from './feature.ts';
import { createRedeem, type Redemption } from './redeem.ts';
import type { Consent, ConsentQuery, DelegationChain } from './schema.ts';
import {
  findChain,
  findCovering,
  insertLink,
  listConsents,
  lockPerson,
  lockTree,
  revokeBelow,
} from './store.ts';
import { createSubjectScopes } from './subject-scopes.ts';
import { findSubjects, personSubject, prefetchGrants } from './subjects.ts';

interface NewConsent {
  readonly personId: string;
  readonly agentId: string;
  /** The identifier of a resource, or our issuer. */
  readonly audience: string;
  readonly scopes: readonly string[];
  readonly expiresIn: number;
  readonly allowRedelegation: boolean;
  readonly origin: Exclude<DelegationChain['origin'], 'api'>;
  /** Without them, `scopes` are not empty. */
  readonly authorizationDetails: AuthorizationDetails | null;
}

export interface Consents {
  /** The scopes that the person may lend for an audience now. */
  lendable(db: Queryable, personId: string, audience: string): Promise<readonly string[]>;
  /**
   * Begins a chain from the person to the agent, and records `consent.granted`. DELEGATION_SCOPE_EXCEEDED for scopes that the person may
   * not lend now; FORBIDDEN for a person who is not active; AGENT_NOT_ACTIVE.
   */
  grant(tx: Tx, actor: Actor, wanted: NewConsent): Promise<Link>;
  /** The same in two steps: all that can refuse, under locks that last until the transaction ends, and then `insert`. */
  prepare(
    tx: Tx,
    actor: Actor,
    wanted: NewConsent,
  ): Promise<{ readonly link: Link; insert(tx: Tx): Promise<void> }>;
  /** An active chain of the person, the agent and the audience that covers the scopes, without details of an action; the newest. */
  findCovering(
    db: Queryable,
    wanted: Pick<NewConsent, 'personId' | 'agentId' | 'audience' | 'scopes'>,
  ): Promise<Link | undefined>;
  /** Ends the chain and all below it, and records `consent.revoked`. False when it had ended. */
  revoke(tx: Tx, actor: Actor, chainId: string, reason: string): Promise<boolean>;
  /** The consents of the person in the session. */
  listOwn(caller: Caller, query: ConsentQuery): Promise<Page<Consent>>;
  /** DELEGATION_NOT_FOUND unless it is a consent of the person in the session. */
  revokeOwn(caller: Caller, chainId: string): Promise<void>;
  /** The contents of a token of the chain for its delegatee. TokenError otherwise. */
  redeem(tx: Tx, chainId: string, redemption: Redemption): Promise<AuthorizedToken | undefined>;
  /** The agents that `redeem` locks. */
  agentsToLock(chainId: string): Promise<readonly string[]>;
}

export function createConsents(deps: DelegationDeps): Consents {
  const { db, clock, ids, ledger, metrics, issuer, lockAgents, findLenders, count } = deps;
  const { subjectScopes } = createSubjectScopes(deps);
  const redeem = createRedeem(deps);
  const resourceOf = (audience: string) => (audience === issuer ? null : [audience]);

  const lendable = async (tx: Queryable, personId: string, audience: string) => {
    const person = (await findLenders(tx, [personId])).get(personId);
    return person ? (await subjectScopes(tx, personSubject(person), audience)).scopes : [];
  };

  const revoke: Consents['revoke'] = async (tx, actor, chainId, reason) => {
    const chain = await findChain(tx, chainId);
    if (!chain) return false;
    const link = lastLink(chain);
    await lockTree(tx, link.rootChainId, 'exclusive');
    const revoked = await revokeBelow(tx, link, isoTime(clock));
    if (revoked === 0) return false;
    const { metadata, ...subject } = eventSubject(link);
    await ledger.record(tx, actor, 'consent.revoked', {
      ...subject,
      metadata: { ...metadata, reason, descendants: revoked - 1 },
    });
    return true;
  };

  const prepare: Consents['prepare'] = async (
    tx,
    actor,
    { personId, agentId, audience, scopes, expiresIn, allowRedelegation, ...wanted },
  ) => {
    const agent = (await lockAgents(tx, [agentId])).get(agentId);
    // A suspension waits until this chain can be seen by it.
    await lockPerson(tx, personId);
    const person = (await findLenders(tx, [personId])).get(personId);
    if (person?.status !== 'active') return fail('FORBIDDEN', { message: 'The person is not active.' });
    if (agent?.organizationId !== person.organizationId) return fail('AGENT_NOT_FOUND');
    if (agent.status !== 'active')
      fail('AGENT_NOT_ACTIVE', {
        message: `The client is ${agent.status}; an administrator can activate it.`,
      });
    const held = await subjectScopes(tx, personSubject(person), audience);
    refuseExceeding('scopes', scopes, held.scopes);
    if (held.scopes.length === 0)
      fail('FORBIDDEN', { message: 'The person may not lend anything at this API.' });
    const chainId = ids.uuid();
    const now = clock.now();
    const link: Link = {
      chainId,
      parentChainId: null,
      rootChainId: chainId,
      path: [chainId],
      depth: 1,
      organizationId: person.organizationId,
      subjectType: 'person',
      subjectId: personId,
      delegatorType: 'person',
      delegatorId: personId,
      delegateeId: agentId,
      scopes: [...scopes],
      resource: resourceOf(audience),
      purpose: null,
      allowRedelegation,
      origin: wanted.origin,
      authorizationDetails: wanted.authorizationDetails,
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(now + expiresIn * 1000).toISOString(),
      revokedAt: null,
      trustPolicyId: null,
    };
    const insert = async (inserting: Tx) => {
      await insertLink(inserting, link);
      await ledger.record(inserting, actor, 'consent.granted', eventSubject(link));
      inserting.afterCommit(() => {
        metrics.count('service_delegation_chains_created_total', {});
        count('delegations_created', agent);
      });
    };
    return { link, insert };
  };

  const personIn = ({ person }: Caller): string =>
    person?.personId ??
    fail('FORBIDDEN', { message: 'Only a person has agents that act for them: sign in as a person.' });

  return {
    lendable,

    prepare,

    async grant(tx, actor, wanted) {
      const { link, insert } = await prepare(tx, actor, wanted);
      await insert(tx);
      return link;
    },

    findCovering: (tx, { personId, agentId, audience, scopes }) =>
      findCovering(tx, { personId, agentId, scopes, resource: resourceOf(audience) }, new Date(clock.now())),

    revoke,

    async listOwn(caller, query) {
      const now = clock.now();
      const { rows, total } = await listConsents(db, personIn(caller), query, new Date(now));
      const subjectOf = await findSubjects(deps, rows);
      const chains = rows.map((row) => [row] as const);
      const { effectiveScopes } = createSubjectScopes(deps, await prefetchGrants(deps, chains));
      const shown = await Promise.all(
        rows.map(async (row) => ({
          ...withStatus(row, now),
          agentName: row.agentName,
          clientUri: row.clientUri,
          clientName: row.clientName,
          resourceName: row.resourceName,
          lastUsedAt: row.lastUsedAt,
          effectiveScopes: await effectiveScopes(db, [row], subjectOf(row)),
        })),
      );
      return pageOf(query, shown, total);
    },

    async revokeOwn(caller, chainId) {
      const personId = personIn(caller);
      const chain = await findChain(db, chainId);
      const isOwn =
        chain?.length === 1 && chain[0].subjectType === 'person' && chain[0].subjectId === personId;
      if (!isOwn) fail('DELEGATION_NOT_FOUND');
      await db.transaction((tx) => revoke(tx, caller, chainId, 'by the person'));
    },

    async redeem(tx, chainId, redemption) {
      const chain = await findChain(tx, chainId);
      return chain && redeem(tx, chain, redemption);
    },

    async agentsToLock(chainId) {
      const chain = await findChain(db, chainId);
      return chain ? agentsOf(chain) : [];
    },
  };
}
