/**
 * The current status of a token: of the token, its credential, its agent and its organization; for a delegated token of the other
 * agents and links of its chain; for a token of another audience than our own API of the resource and the grant. PostgreSQL is
 * authoritative; a cache keeps the rows for a few seconds unless a change invalidates them
 * (kernel/invalidating-cache.ts).
 */

import type { Delegation } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { andThen, type MaybePromise } from '../../kernel/concurrency/maybe-promise.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { DomainEvent, LedgerListener } from '../../kernel/domain-event.ts';
import type { InvalidatingCache } from '../../kernel/invalidating-cache.ts';
import type { findLenders } from '../people/lenders-store.ts';
import type { ResourceAccess } from '../resources/access.ts';
import type { HeldScopes, ScopeEpochs } from '../resources/audience-scopes.ts';
import {
  agentKey,
  chainKey,
  credentialKey,
  grantKey,
  invalidatedKeys,
  invalidatingTypes,
  localResourceKey,
  organizationKey,
  resourceKey,
  tokenKey,
} from './status-keys.ts';
import {
  type AgentStatus,
  type CredentialState,
  findAgentStatuses,
  findOrganizationStatus,
  findTokenStatus,
  type OrganizationState,
  statusOfPerson,
} from './store.ts';

const live = 'live';
const revoked = 'revoked';
const unregistered = 'unregistered';

interface TokenIds {
  readonly tokenId: string;
  readonly agentId: string;
  readonly organizationId: string;
  /** Undefined for a token that was issued without a client secret. */
  readonly credentialId?: string | undefined;
  readonly delegation?: Delegation | undefined;
  /** Absent for a token of our own API. */
  readonly audience?: string | undefined;
  /** The organization whose resource a loopback audience is, where each organization has its own. */
  readonly audienceOwnerId?: string | undefined;
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

/** The registered resource that a token is for. */
export interface TargetStatus {
  /** The owner of the resource. */
  readonly organizationId: string;
  readonly deleted: boolean;
  /** The scopes that the token's owner holds now. */
  readonly held: HeldScopes;
  readonly epochs: ScopeEpochs;
}

/** Without what concerns new tokens only. */
export type TokenStatus = Omit<AgentStatus, 'dpopBoundAccessTokens' | 'organizationUpdatedAt'> & {
  readonly chain?: ChainStatus;
  /** The credential that the token was issued with; absent for a token that was issued without one. */
  readonly credential?: CredentialState;
  /** Absent for a token of our own API, and for an audience that is not registered. */
  readonly target?: TargetStatus;
};

export interface TokenStatuses {
  /** Undefined when its agent, or a part of its chain, does not exist. */
  get(query: StatusQuery): MaybePromise<TokenStatus | 'revoked' | undefined>;
  /** Whether the organization exists and is active. */
  isActive(organizationId: string): Promise<boolean>;
  /** Invalidates the cache on every event that changes a status. */
  readonly listener: LedgerListener;
}

export type CachedAgent = Pick<
  AgentStatus,
  'agentStatus' | 'allowedScopes' | 'tokensEndedAt' | 'epoch' | 'rateLimitPerMinute'
>;
type CachedResource = typeof unregistered | Omit<TargetStatus, keyof CachedGrant>;
type CachedGrant = Pick<TargetStatus, 'held' | 'epochs'>;

/** Also beside a resource that is registered a moment later: the entries end at different times. */
const noGrant: CachedGrant = { held: {}, epochs: {} };

const otherAgentsOf = ({ agentId, delegation }: TokenIds): string[] =>
  delegation
    ? [...new Set([delegation.subjectId, ...delegation.actorIds])].filter((id) => id !== agentId)
    : [];

const isOfPerson = ({ delegation }: TokenIds): boolean => delegation?.subjectType === 'person';

/** The agent or person whose scopes the token carries: its holder, or the subject of its delegation. */
const ownerIdOf = ({ agentId, delegation }: TokenIds): string => delegation?.subjectId ?? agentId;

function targetKeys(token: TokenIds): string[] {
  const { audience, audienceOwnerId } = token;
  if (audience === undefined) return [];
  const resource =
    audienceOwnerId === undefined ? resourceKey(audience) : localResourceKey(audienceOwnerId, audience);
  return [resource, grantKey(ownerIdOf(token), audience)];
}

export function statusQuery(token: TokenIds): StatusQuery {
  const otherAgentIds = otherAgentsOf(token);
  // In the order of `valuesOf`.
  const keys = [
    tokenKey(token.tokenId),
    agentKey(token.agentId),
    organizationKey(token.organizationId),
    ...(token.credentialId === undefined ? [] : [credentialKey(token.credentialId)]),
    ...otherAgentIds.map(agentKey),
    ...(token.delegation?.chainIds ?? []).map(chainKey),
    ...targetKeys(token),
  ];
  return { ...token, otherAgentIds, keys };
}

const cachedAgent = (agent: CachedAgent): CachedAgent => ({
  agentStatus: agent.agentStatus,
  allowedScopes: agent.allowedScopes,
  tokensEndedAt: agent.tokensEndedAt,
  epoch: agent.epoch,
  rateLimitPerMinute: agent.rateLimitPerMinute,
});

const cachedOrganization = ({
  organizationStatus,
  planTier,
  maxTokensPerMonth,
  organizationEpoch,
}: OrganizationState): OrganizationState => ({
  organizationStatus,
  planTier,
  maxTokensPerMonth,
  organizationEpoch,
});

/** False for entries of nodes of the previous version. */
const hasEpoch = (cached: unknown): boolean =>
  (cached as CachedAgent).epoch !== undefined ||
  (cached as OrganizationState).organizationEpoch !== undefined;

const targetValues = ({ audience }: TokenIds, { target }: TokenStatus): unknown[] => {
  if (audience === undefined) return [];
  if (!target) return [unregistered, noGrant];
  const { held, epochs, ...resource } = target;
  return [resource, { held, epochs }];
};

type FoundStatus = TokenStatus & { readonly revoked: boolean };

const valuesOf = (query: StatusQuery, found: FoundStatus): unknown[] => [
  found.revoked ? revoked : live,
  cachedAgent(found),
  cachedOrganization(found),
  ...(query.credentialId === undefined ? [] : [found.credential]),
  ...(found.chain?.agents ?? []).map(cachedAgent),
  ...(found.chain?.links ?? []),
  ...targetValues(query, found),
];

export function createTokenStatuses(deps: {
  db: Db;
  clock: Clock;
  cache: InvalidatingCache;
  /** In the order of the ids; links that do not exist are left out. */
  findLinks(chainIds: readonly string[]): Promise<readonly LinkStatus[]>;
  findTargets: ResourceAccess['findTargets'];
  findPersonTarget: ResourceAccess['findPersonTarget'];
  findLenders: typeof findLenders;
}): TokenStatuses {
  const { db, clock, cache, findLinks, findTargets, findPersonTarget, findLenders } = deps;

  const findTarget = async (query: StatusQuery): Promise<TargetStatus | undefined> => {
    const { agentId: clientId, audience } = query;
    if (audience === undefined) return undefined;
    const wanted = { ownerId: ownerIdOf(query), clientId, audience };
    const target = isOfPerson(query)
      ? await findPersonTarget(db, wanted)
      : (await findTargets(db, [wanted]))[0];
    if (!target) return undefined;
    const { organizationId, deleted, held, epochs } = target;
    return { organizationId, deleted, held, epochs };
  };

  const find = async (query: StatusQuery): Promise<FoundStatus | undefined> => {
    const { agentId, tokenId, organizationId, credentialId, delegation, otherAgentIds } = query;
    const [row, others, people, links, target] = await Promise.all([
      findTokenStatus(db, agentId, tokenId, credentialId),
      otherAgentIds.length > 0 ? findAgentStatuses(db, otherAgentIds) : undefined,
      isOfPerson(query) ? findLenders(db, otherAgentIds) : undefined,
      delegation ? findLinks(delegation.chainIds) : undefined,
      findTarget(query),
    ]);
    if (row?.organizationId !== organizationId) return undefined;
    const statusOf = (id: string): AgentStatus | undefined => {
      const person = people?.get(id);
      return person ? statusOfPerson(row, person) : others?.get(id);
    };
    const { credential, ...status } = row;
    const found = {
      ...status,
      ...(credentialId !== undefined && { credential }),
      ...(target && { target }),
    };
    if (!delegation) return found;
    const chain = { agents: otherAgentIds.flatMap((id) => statusOf(id) ?? []), links: links ?? [] };
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

  const readThrough = async (query: StatusQuery) => {
    const readAt = clock.now();
    const found = await find(query);
    if (!found) return undefined;
    if (isOfPerson(query)) return found.revoked ? revoked : found;
    const values = valuesOf(query, found);
    await cache.putIfAbsent(
      query.keys.map((key, index) => [key, values[index]]),
      readAt,
    );
    return found.revoked ? revoked : found;
  };

  return {
    // What a person may lend depends on the person, the person's agent, the resource and the share: it is read each time.
    get: (query) =>
      isOfPerson(query)
        ? readThrough(query)
        : andThen(cache.getMany(query.keys), (values) => assembleOnce(query, values) ?? readThrough(query)),
    async isActive(organizationId) {
      const key = organizationKey(organizationId);
      const [cached] = await cache.getMany([key]);
      if (cached) return (cached as OrganizationState).organizationStatus === 'active';
      const readAt = clock.now();
      const found = await findOrganizationStatus(db, organizationId);
      if (!found) return false;
      await cache.putIfAbsent([[key, cachedOrganization(found)]], readAt);
      return found.organizationStatus === 'active';
    },
    listener: cache.listener(invalidatingTypes, invalidatedKeys, cacheRevocation),
  };
}

/** Undefined when a value is missing. */
function assemble(query: StatusQuery, values: readonly unknown[]): TokenStatus | typeof revoked | undefined {
  const [token, agent, organization, ...rest] = values;
  if (token === revoked) return revoked;
  if (token !== live || !agent || !organization || rest.includes(null)) return undefined;
  const { agentId, organizationId, credentialId, delegation, otherAgentIds, audience } = query;
  const credential = credentialId === undefined ? undefined : (rest.shift() as CredentialState);
  if (![agent, organization, ...rest.slice(0, otherAgentIds.length)].every(hasEpoch)) return undefined;
  const status = {
    agentId,
    organizationId,
    ...(organization as OrganizationState),
    ...(agent as CachedAgent),
    ...(credential && { credential }),
    ...(audience !== undefined && assembleTarget(rest.splice(-2))),
  };
  if (!delegation) return status;
  const chain = {
    agents: rest.slice(0, otherAgentIds.length) as CachedAgent[],
    links: rest.slice(otherAgentIds.length) as LinkStatus[],
  };
  return { ...status, chain };
}

function assembleTarget([resource, grant]: readonly unknown[]): Pick<TokenStatus, 'target'> {
  return resource === unregistered
    ? {}
    : { target: { ...(resource as Exclude<CachedResource, string>), ...(grant as CachedGrant) } };
}
