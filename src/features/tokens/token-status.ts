/**
 * The current status of a token: of the token, its agent and its organization, and for a delegated token of the other agents and
 * links of its chain. PostgreSQL is authoritative; a cache keeps the rows for a few seconds unless a change invalidates them
 * (kernel/data/invalidating-cache.ts).
 */
import type { EventType } from '../../contract/events.ts';
import type { Delegation } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { InvalidatingCache } from '../../kernel/data/invalidating-cache.ts';
import type { DomainEvent, LedgerListener } from '../../kernel/domain-event.ts';
import { type AgentStatus, findAgentStatuses, findTokenStatus } from './store.ts';

const live = 'live';
const revoked = 'revoked';

interface TokenIds {
  readonly tokenId: string;
  readonly agentId: string;
  readonly organizationId: string;
  readonly delegation?: Delegation | undefined;
}

/** The look-up of a token's status. Computed once per token, because a token is used many times. */
export interface StatusQuery extends TokenIds {
  /** The agents of its chain besides its own. */
  readonly otherAgentIds: readonly string[];
  readonly keys: readonly string[];
}

/** One link of a chain of delegations. */
export interface LinkStatus {
  readonly revoked: boolean;
  readonly expiresAt: string;
}

/** The other agents and the links that a delegated token depends on. */
export interface ChainStatus {
  readonly agents: readonly CachedAgent[];
  readonly links: readonly LinkStatus[];
}

export type TokenStatus = AgentStatus & { readonly chain?: ChainStatus };

export interface TokenStatuses {
  /** Undefined when its agent, or a part of its chain, does not exist. */
  get(query: StatusQuery): Promise<TokenStatus | 'revoked' | undefined>;
  /** Invalidates the cache on every event that changes a status. */
  readonly listener: LedgerListener;
}

export type CachedAgent = Pick<AgentStatus, 'agentStatus' | 'allowedScopes' | 'tokensEndedAt'>;
type CachedOrganization = Pick<AgentStatus, 'organizationStatus' | 'planTier' | 'maxTokensPerMonth'>;

/** The number changes with the shape of the values: nodes of two versions may share a store. */
const tokenKey = (tokenId: string) => `standing:4:token:${tokenId}`;
const agentKey = (agentId: string) => `standing:4:agent:${agentId}`;
const organizationKey = (organizationId: string) => `standing:4:organization:${organizationId}`;
const chainKey = (chainId: string) => `standing:4:chain:${chainId}`;

const otherAgentsOf = ({ agentId, delegation }: TokenIds): string[] =>
  delegation
    ? [...new Set([delegation.subjectId, ...delegation.actorIds])].filter((id) => id !== agentId)
    : [];

export function statusQuery(token: TokenIds): StatusQuery {
  const otherAgentIds = otherAgentsOf(token);
  // In the order of `valuesOf`.
  const keys = [
    tokenKey(token.tokenId),
    agentKey(token.agentId),
    organizationKey(token.organizationId),
    ...otherAgentIds.map(agentKey),
    ...(token.delegation?.chainIds ?? []).map(chainKey),
  ];
  return { ...token, otherAgentIds, keys };
}

const cachedAgent = ({ agentStatus, allowedScopes, tokensEndedAt }: CachedAgent): CachedAgent => ({
  agentStatus,
  allowedScopes,
  tokensEndedAt,
});

const cachedOrganization = ({
  organizationStatus,
  planTier,
  maxTokensPerMonth,
}: CachedOrganization): CachedOrganization => ({ organizationStatus, planTier, maxTokensPerMonth });

const valuesOf = (found: TokenStatus & { revoked: boolean }): unknown[] => [
  found.revoked ? revoked : live,
  cachedAgent(found),
  cachedOrganization(found),
  ...(found.chain?.agents ?? []).map(cachedAgent),
  ...(found.chain?.links ?? []),
];

export function createTokenStatuses(deps: {
  db: Db;
  clock: Clock;
  cache: InvalidatingCache;
  /** In the order of the ids; links that do not exist are left out. */
  findLinks(chainIds: readonly string[]): Promise<readonly LinkStatus[]>;
}): TokenStatuses {
  const { db, clock, cache, findLinks } = deps;

  const find = async (query: StatusQuery): Promise<(TokenStatus & { revoked: boolean }) | undefined> => {
    const { agentId, tokenId, organizationId, delegation, otherAgentIds } = query;
    const [found, others, links] = await Promise.all([
      findTokenStatus(db, agentId, tokenId),
      otherAgentIds.length > 0 ? findAgentStatuses(db, otherAgentIds) : undefined,
      delegation ? findLinks(delegation.chainIds) : undefined,
    ]);
    if (found?.organizationId !== organizationId) return undefined;
    if (!delegation) return found;
    const chain = { agents: otherAgentIds.flatMap((id) => others?.get(id) ?? []), links: links ?? [] };
    const isComplete =
      chain.agents.length === otherAgentIds.length && chain.links.length === delegation.chainIds.length;
    return isComplete ? { ...found, chain } : undefined;
  };

  /** A committed revocation is final, so the cache keeps it until the token would have expired. */
  const cacheRevocation = ({ type, metadata: { tokenId, expiresAt } }: DomainEvent) => {
    if (type !== 'token.revoked') return;
    cache.putUntil(tokenKey(String(tokenId)), revoked, Date.parse(String(expiresAt))).catch(() => {});
  };

  const assembled = new WeakMap<
    StatusQuery,
    { values: readonly unknown[]; status: ReturnType<typeof assemble> }
  >();
  /** The same values make the same object, so that results derived from it can be memoized. */
  const assembleOnce = (query: StatusQuery, values: readonly unknown[]) => {
    const last = assembled.get(query);
    if (last && values.every((value, index) => value === last.values[index])) return last.status;
    const status = assemble(query, values);
    assembled.set(query, { values, status });
    return status;
  };

  return {
    async get(query) {
      const { keys } = query;
      const cached = assembleOnce(query, await cache.getMany(keys));
      if (cached) return cached;
      const readAt = clock.now();
      const found = await find(query);
      if (!found) return undefined;
      const values = valuesOf(found);
      await cache.putIfAbsent(
        keys.map((key, index) => [key, values[index]]),
        readAt,
      );
      return found.revoked ? revoked : found;
    },
    listener: cache.listener(invalidatedKeys, cacheRevocation),
  };
}

/** Undefined when a value is missing. */
function assemble(query: StatusQuery, values: readonly unknown[]): TokenStatus | typeof revoked | undefined {
  const [token, agent, organization, ...rest] = values;
  if (token === revoked) return revoked;
  if (token !== live || !agent || !organization || rest.includes(null)) return undefined;
  const { agentId, organizationId, delegation, otherAgentIds } = query;
  const status = {
    agentId,
    organizationId,
    ...(organization as CachedOrganization),
    ...(agent as CachedAgent),
  };
  if (!delegation) return status;
  const chain = {
    agents: rest.slice(0, otherAgentIds.length) as CachedAgent[],
    links: rest.slice(otherAgentIds.length) as LinkStatus[],
  };
  return { ...status, chain };
}

/** The status that an event may change. A table of all events: a new event does not compile without a row here. */
const invalidations: Readonly<Record<EventType, 'agent' | 'organization' | 'token' | 'chain' | 'none'>> = {
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
  'member.updated': 'none',
  'member.removed': 'none',
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
  // The key of its own link only: the status of a token below includes all links above it.
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
  'resource.created': 'none',
  'resource.updated': 'none',
  'resource.deleted': 'none',
  'resource.shared': 'none',
  'resource.unshared': 'none',
  'grant.changed': 'none',
  'grant.removed': 'none',
};

function invalidatedKeys({ type, agentId, organizationId, metadata }: DomainEvent): string[] {
  switch (invalidations[type]) {
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
