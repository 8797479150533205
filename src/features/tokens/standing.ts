/**
 * Whether a token, its agent and its organization are in good standing, and what a delegated one rests on besides: the truth
 * is in PostgreSQL, and what was read there is kept in the key-value store for a few seconds, so that most questions cost
 * one look there and no SQL.
 *
 * A change is announced in the store before it commits, and for as long as a reader could still bring an older answer
 * everybody who asks about the agent or organization is sent to PostgreSQL. Nothing is believed because it is missing: a
 * store that was flushed, or drops keys, costs queries and never revives a token.
 */
import type { EventType } from '../../contract/events.ts';
import type { Delegation } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/db.ts';
import { type Kv, KvAway } from '../../kernel/kv.ts';
import type { Happening, LedgerListener } from '../../kernel/ledger.ts';
import type { Loop } from '../../kernel/loops.ts';
import { createRecent } from '../../kernel/recent.ts';
import { findStanding, findStandings, type Standing } from './store.ts';

/** How long an answer is believed: also the longest that a change can go unnoticed when it could not be announced. */
const believedMs = 10_000;
/**
 * Longer than what follows an announcement until its commit, and than a reader can be on its way with an older answer:
 * statements are cut after 20 seconds.
 */
const announcedMs = 60_000;

const changing = 'changing';
const live = 'live';
const revoked = 'revoked';

export interface TokenSubject {
  readonly tokenId: string;
  readonly agentId: string;
  readonly organizationId: string;
  readonly delegation?: Delegation | undefined;
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
  readonly loops: readonly Loop[];
}

export type AgentPart = Pick<Standing, 'agentStatus' | 'allowedScopes' | 'tokensEndedAt'>;
type OrganizationPart = Pick<Standing, 'organizationStatus' | 'planTier' | 'maxTokensPerMonth'>;

/** The number changes with the shape of what is kept: nodes of two versions may share a store. */
const tokenKey = (tokenId: string) => `standing:2:token:${tokenId}`;
const agentKey = (agentId: string) => `standing:2:agent:${agentId}`;
const organizationKey = (organizationId: string) => `standing:2:organization:${organizationId}`;

const chainKey = (chainId: string) => `standing:2:chain:${chainId}`;

const othersOf = ({ agentId, delegation }: TokenSubject): string[] =>
  delegation
    ? [...new Set([delegation.subjectId, ...delegation.actorIds])].filter((id) => id !== agentId)
    : [];

/** In this order everywhere. */
const keysOf = (subject: TokenSubject) => [
  tokenKey(subject.tokenId),
  agentKey(subject.agentId),
  organizationKey(subject.organizationId),
  ...othersOf(subject).map(agentKey),
  ...(subject.delegation?.chainIds ?? []).map(chainKey),
];

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

const valuesOf = (found: TokenStanding & { revoked: boolean }): string[] => [
  found.revoked ? revoked : live,
  JSON.stringify(agentPart(found)),
  JSON.stringify(organizationPart(found)),
  ...(found.backing?.agents ?? []).map((agent) => JSON.stringify(agentPart(agent))),
  ...(found.backing?.chains ?? []).map((chain) => JSON.stringify(chain)),
];

export function createStandings(deps: {
  db: Db;
  kv: Kv;
  clock: Clock;
  /** The links of a chain, in the order asked; those that are not there are left out. */
  findChains(chainIds: readonly string[]): Promise<readonly ChainPart[]>;
}): Standings {
  const { db, kv, clock, findChains } = deps;
  /** What could not be announced, and until when it matters. */
  const untold = new Map<string, number>();

  const announce = async (keys: readonly string[]) => {
    if (keys.length === 0) return;
    for (const key of keys) {
      // At the end, so that the oldest come first and leave first.
      untold.delete(key);
      untold.set(key, clock.now() + announcedMs);
    }
    await tell(keys);
  };

  const tellOne = async (key: string) => {
    const until = untold.get(key);
    if (until === undefined) return;
    if (until > clock.now()) await kv.set(key, changing, { ttlMs: announcedMs });
    if (untold.get(key) === until) untold.delete(key);
  };

  /** Answers whether the store knows of these. */
  const tell = async (keys: Iterable<string>): Promise<boolean> => {
    try {
      await Promise.all([...keys].map(tellOne));
      return true;
    } catch (error) {
      if (!(error instanceof KvAway)) throw error;
      return false;
    }
  };

  let telling: Promise<boolean> | undefined;
  /** All that is untold, by one for all who ask meanwhile. */
  const tellRest = (): Promise<boolean> => {
    telling ??= tell(untold.keys()).finally(() => {
      telling = undefined;
    });
    return telling;
  };

  /** Undefined when there is no such agent, or a part of what it rests on is not there. */
  const find = async (subject: TokenSubject): Promise<(TokenStanding & { revoked: boolean }) | undefined> => {
    const { agentId, tokenId, organizationId, delegation } = subject;
    const others = othersOf(subject);
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

  const recall = async (subject: TokenSubject): Promise<TokenStanding | typeof revoked | undefined> => {
    if (untold.size > 0 && !(await tellRest())) return undefined;
    try {
      return read(subject, await kv.getMany(keysOf(subject)));
    } catch (error) {
      if (!(error instanceof KvAway)) throw error;
      return undefined;
    }
  };

  /** Never over something that is there: it may be the announcement of a change that we have not seen. */
  const remember = async (
    subject: TokenSubject,
    found: TokenStanding & { revoked: boolean },
    readAt: number,
  ) => {
    // Believed from when it was read, however long it took to get here.
    const ttlMs = Math.ceil(believedMs - (clock.now() - readAt));
    if (ttlMs <= 0) return;
    const values = valuesOf(found);
    try {
      await Promise.all(
        keysOf(subject).map((key, index) =>
          kv.set(key, values[index] as string, { ttlMs, onlyIfAbsent: true }),
        ),
      );
    } catch (error) {
      if (!(error instanceof KvAway)) throw error;
    }
  };

  /** A revocation that has been committed stays true; until the token would have expired there is nothing to ask. */
  const keepRevoked = ({ metadata: { tokenId, expiresAt } }: Happening) => {
    const ttlMs = Date.parse(String(expiresAt)) - clock.now();
    if (ttlMs > 0) kv.set(tokenKey(String(tokenId)), revoked, { ttlMs }).catch(() => {});
  };

  return {
    async of(subject) {
      const known = await recall(subject);
      if (known) return known === revoked ? undefined : known;
      const readAt = clock.now();
      const found = await find(subject);
      if (!found) return undefined;
      await remember(subject, found, readAt);
      return found.revoked ? undefined : found;
    },
    listener: {
      inTransaction: (_, happenings) => announce(happenings.flatMap(changedKeys)),
      /** Once more, for a store that lost the announcement before the commit. */
      afterCommit(happenings) {
        announce(happenings.flatMap(changedKeys)).then(
          () => happenings.filter(({ type }) => type === 'token.revoked').forEach(keepRevoked),
          () => {},
        );
      },
    },
    loops: [
      {
        name: 'tokens-untold',
        everyMs: 1_000,
        everywhere: true,
        async run() {
          await tellRest();
        },
      },
    ],
  };
}

const partsRead = createRecent<unknown>(10_000);

/** The same text is read once: it comes with every request. */
function partIn<Part>(text: string | null | undefined): Part {
  const known = partsRead.get(String(text));
  if (known) return known as Part;
  const part = JSON.parse(String(text));
  partsRead.set(String(text), part);
  return part;
}

function read(
  subject: TokenSubject,
  values: readonly (string | null)[],
): TokenStanding | typeof revoked | undefined {
  const [token, agent, organization, ...rest] = values;
  if (token === revoked) return revoked;
  if (token !== live || [agent, organization, ...rest].some((value) => !value || value === changing))
    return undefined;
  const { agentId, organizationId, delegation } = subject;
  const parts = rest.map(partIn<never>);
  const others = othersOf(subject).length;
  return {
    agentId,
    organizationId,
    ...partIn<OrganizationPart>(organization),
    ...partIn<AgentPart>(agent),
    ...(delegation && { backing: { agents: parts.slice(0, others), chains: parts.slice(others) } }),
  };
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

function changedKeys({ type, agentId, organizationId, metadata }: Happening): string[] {
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
