/**
 * Whether a token, its agent and its organization are in good standing, and what a delegated one rests on besides: the truth
 * is in PostgreSQL, and what was read there is believed for a few seconds unless a change is announced (kernel/data/invalidating-cache.ts).
 */
import type { EventType } from '../../contract/events.ts';
import type { Delegation } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { InvalidatingCache } from '../../kernel/data/invalidating-cache.ts';
import type { DomainEvent, LedgerListener } from '../../kernel/domain-event.ts';
import { findStanding, findStandings, type Standing } from './store.ts';

const live = 'live';
const revoked = 'revoked';

interface Token {
  readonly tokenId: string;
  readonly agentId: string;
  readonly organizationId: string;
  readonly delegation?: Delegation | undefined;
}

/** A token, and what to ask about it: worked out once, for a token comes many times. */
export interface TokenSubject extends Token {
  /** The agents of its chain besides its own. */
  readonly others: readonly string[];
  readonly keys: readonly string[];
}

/** One link of a chain of delegations. */
export interface ChainPart {
  readonly revoked: boolean;
  readonly expiresAt: string;
}

/** What a delegated token rests on besides its holder: the other agents of its chain, and every link. */
export interface Backing {
  readonly agents: readonly AgentPart[];
  readonly chains: readonly ChainPart[];
}

export type TokenStanding = Standing & { readonly backing?: Backing };

export interface Standings {
  /** Undefined when the token was revoked or its agent does not exist. */
  of(subject: TokenSubject): Promise<TokenStanding | undefined>;
  /** Hears of every change by way of the ledger, so no feature has to think of it. */
  readonly listener: LedgerListener;
}

export type AgentPart = Pick<Standing, 'agentStatus' | 'allowedScopes' | 'tokensEndedAt'>;
type OrganizationPart = Pick<Standing, 'organizationStatus' | 'planTier' | 'maxTokensPerMonth'>;

/** The number changes with the shape of what is kept: nodes of two versions may share a store. */
const tokenKey = (tokenId: string) => `standing:4:token:${tokenId}`;
const agentKey = (agentId: string) => `standing:4:agent:${agentId}`;
const organizationKey = (organizationId: string) => `standing:4:organization:${organizationId}`;

const chainKey = (chainId: string) => `standing:4:chain:${chainId}`;

const othersOf = ({ agentId, delegation }: Token): string[] =>
  delegation
    ? [...new Set([delegation.subjectId, ...delegation.actorIds])].filter((id) => id !== agentId)
    : [];

export function subjectOf(token: Token): TokenSubject {
  const others = othersOf(token);
  // In the order of `valuesOf`.
  const keys = [
    tokenKey(token.tokenId),
    agentKey(token.agentId),
    organizationKey(token.organizationId),
    ...others.map(agentKey),
    ...(token.delegation?.chainIds ?? []).map(chainKey),
  ];
  return { ...token, others, keys };
}

const agentPart = ({ agentStatus, allowedScopes, tokensEndedAt }: AgentPart): AgentPart => ({
  agentStatus,
  allowedScopes,
  tokensEndedAt,
});

const organizationPart = ({
  organizationStatus,
  planTier,
  maxTokensPerMonth,
}: OrganizationPart): OrganizationPart => ({ organizationStatus, planTier, maxTokensPerMonth });

const valuesOf = (found: TokenStanding & { revoked: boolean }): unknown[] => [
  found.revoked ? revoked : live,
  agentPart(found),
  organizationPart(found),
  ...(found.backing?.agents ?? []).map(agentPart),
  ...(found.backing?.chains ?? []),
];

export function createStandings(deps: {
  db: Db;
  clock: Clock;
  cache: InvalidatingCache;
  /** The links of a chain, in the order asked; those that are not there are left out. */
  findChains(chainIds: readonly string[]): Promise<readonly ChainPart[]>;
}): Standings {
  const { db, clock, cache: announced, findChains } = deps;

  /** Undefined when there is no such agent, or a part of what it rests on is not there. */
  const find = async (subject: TokenSubject): Promise<(TokenStanding & { revoked: boolean }) | undefined> => {
    const { agentId, tokenId, organizationId, delegation, others } = subject;
    const [found, agents, chains] = await Promise.all([
      findStanding(db, agentId, tokenId),
      others.length > 0 ? findStandings(db, others) : undefined,
      delegation ? findChains(delegation.chainIds) : undefined,
    ]);
    if (found?.organizationId !== organizationId) return undefined;
    if (!delegation) return found;
    const backing = { agents: others.flatMap((id) => agents?.get(id) ?? []), chains: chains ?? [] };
    const complete =
      backing.agents.length === others.length && backing.chains.length === delegation.chainIds.length;
    return complete ? { ...found, backing } : undefined;
  };

  /** A revocation that has been committed stays true; until the token would have expired there is nothing to ask. */
  const keepRevoked = ({ type, metadata: { tokenId, expiresAt } }: DomainEvent) => {
    if (type !== 'token.revoked') return;
    announced.putUntil(tokenKey(String(tokenId)), revoked, Date.parse(String(expiresAt))).catch(() => {});
  };

  const lately = new WeakMap<TokenSubject, { values: readonly unknown[]; known: ReturnType<typeof read> }>();
  /** The same parts make the same object, so that what follows from it need not be worked out again either. */
  const readOnce = (subject: TokenSubject, values: readonly unknown[]) => {
    const last = lately.get(subject);
    if (last && values.every((value, index) => value === last.values[index])) return last.known;
    const known = read(subject, values);
    lately.set(subject, { values, known });
    return known;
  };

  return {
    async of(subject) {
      const { keys } = subject;
      const known = readOnce(subject, await announced.getMany(keys));
      if (known) return known === revoked ? undefined : known;
      const readAt = clock.now();
      const found = await find(subject);
      if (!found) return undefined;
      const values = valuesOf(found);
      await announced.putIfAbsent(
        keys.map((key, index) => [key, values[index]]),
        readAt,
      );
      return found.revoked ? undefined : found;
    },
    listener: announced.listener(changedKeys, keepRevoked),
  };
}

function read(subject: TokenSubject, values: readonly unknown[]): TokenStanding | typeof revoked | undefined {
  const [token, agent, organization, ...rest] = values;
  if (token === revoked) return revoked;
  if (token !== live || !agent || !organization || rest.includes(null)) return undefined;
  const { agentId, organizationId, delegation, others } = subject;
  const standing = {
    agentId,
    organizationId,
    ...(organization as OrganizationPart),
    ...(agent as AgentPart),
  };
  if (!delegation) return standing;
  const backing = {
    agents: rest.slice(0, others.length) as AgentPart[],
    chains: rest.slice(others.length) as ChainPart[],
  };
  return { ...standing, backing };
}

/** Whose standing an event may change. A table of all events, so that a new one cannot be forgotten here. */
const changes: Readonly<Record<EventType, 'agent' | 'organization' | 'token' | 'chain' | 'none'>> = {
  'agent.created': 'none',
  'agent.updated': 'agent',
  'agent.suspended': 'agent',
  'agent.reactivated': 'agent',
  'agent.decommissioned': 'agent',
  'credential.generated': 'none',
  'credential.rotated': 'none',
  'credential.revoked': 'none',
  'token.issued': 'none',
  'token.revoked': 'token',
  'token.refused': 'none',
  'authentication.refused': 'none',
  'organization.created': 'none',
  'organization.updated': 'organization',
  'organization.suspended': 'organization',
  'organization.reactivated': 'organization',
  'organization.deleted': 'organization',
  'member.added': 'none',
  'policy.refused': 'none',
  'refusals.suppressed': 'none',
  'partner.added': 'none',
  'partner.updated': 'none',
  'partner.removed': 'none',
  'trust_policy.created': 'none',
  'trust_policy.updated': 'none',
  'trust_policy.deleted': 'none',
  'id_token.issued': 'none',
  'billing.checkout_started': 'none',
  'billing.portal_opened': 'none',
  'billing.subscription_updated': 'none',
  'billing.cancellation_requested': 'none',
  'delegation.created': 'none',
  // Its own link alone: every token below it is asked about together with all the links above.
  'delegation.revoked': 'chain',
  'listing.created': 'none',
  'listing.updated': 'none',
  'listing.published': 'none',
  'listing.withdrawn': 'none',
  'listing.suspended': 'none',
  'listing.reinstated': 'none',
  'listing.deleted': 'none',
  'webhook.created': 'none',
  'webhook.updated': 'none',
  'webhook.deleted': 'none',
  'webhook.secret_rotated': 'none',
  'webhook.tested': 'none',
  'webhook.replayed': 'none',
};

function changedKeys({ type, agentId, organizationId, metadata }: DomainEvent): string[] {
  switch (changes[type]) {
    case 'agent':
      return [agentKey(agentId)];
    case 'organization':
      return [organizationKey(organizationId)];
    case 'token':
      return [tokenKey(String(metadata.tokenId))];
    case 'chain':
      return [chainKey(String(metadata.chainId))];
    case 'none':
      return [];
  }
}
