/**
 * Whether a token, its agent and its organization are in good standing: the truth is in PostgreSQL, and what was read there
 * is kept in the key-value store for a few seconds, so that most questions cost one look there and no SQL.
 *
 * A change is announced in the store before it commits, and for as long as a reader could still bring an older answer
 * everybody who asks about the agent or organization is sent to PostgreSQL. Nothing is believed because it is missing: a
 * store that was flushed, or drops keys, costs queries and never revives a token.
 */
import type { EventType } from '../../contract/events.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/db.ts';
import { type Kv, KvAway } from '../../kernel/kv.ts';
import type { Happening, LedgerListener } from '../../kernel/ledger.ts';
import type { Loop } from '../../kernel/loops.ts';
import { findStanding, type Standing } from './store.ts';

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
}

export interface Standings {
  /** Undefined when the token was revoked or its agent does not exist. */
  of(subject: TokenSubject): Promise<Standing | undefined>;
  /** Hears of every change by way of the ledger, so no feature has to think of it. */
  readonly listener: LedgerListener;
  readonly loops: readonly Loop[];
}

type AgentPart = Pick<Standing, 'agentStatus' | 'allowedScopes' | 'tokensEndedAt'>;

/** The number changes with the shape of what is kept: nodes of two versions may share a store. */
const tokenKey = (tokenId: string) => `standing:1:token:${tokenId}`;
const agentKey = (agentId: string) => `standing:1:agent:${agentId}`;
const organizationKey = (organizationId: string) => `standing:1:organization:${organizationId}`;

const keysOf = ({ tokenId, agentId, organizationId }: TokenSubject) => [
  tokenKey(tokenId),
  agentKey(agentId),
  organizationKey(organizationId),
];

export function createStandings({ db, kv, clock }: { db: Db; kv: Kv; clock: Clock }): Standings {
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

  const recall = async (subject: TokenSubject): Promise<Standing | typeof revoked | undefined> => {
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
    standing: Standing & { revoked: boolean },
    readAt: number,
  ) => {
    // Believed from when it was read, however long it took to get here.
    const ttlMs = Math.ceil(believedMs - (clock.now() - readAt));
    if (ttlMs <= 0) return;
    const { agentStatus, allowedScopes, tokensEndedAt, organizationStatus } = standing;
    const agent: AgentPart = { agentStatus, allowedScopes, tokensEndedAt };
    const values = [standing.revoked ? revoked : live, JSON.stringify(agent), organizationStatus];
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
      const found = await findStanding(db, subject.agentId, subject.tokenId);
      if (!found || found.organizationId !== subject.organizationId) return undefined;
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

function read(
  subject: TokenSubject,
  values: readonly (string | null)[],
): Standing | typeof revoked | undefined {
  const [token, agent, organizationStatus] = values;
  if (token === revoked) return revoked;
  if (token !== live || !agent || agent === changing) return undefined;
  if (!organizationStatus || organizationStatus === changing) return undefined;
  const { agentId, organizationId } = subject;
  return {
    agentId,
    organizationId,
    organizationStatus: organizationStatus as Standing['organizationStatus'],
    ...(JSON.parse(agent) as AgentPart),
  };
}

/** Whose standing an event may change. A table of all events, so that a new one cannot be forgotten here. */
const changes: Readonly<Record<EventType, 'agent' | 'organization' | 'token' | 'none'>> = {
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
  'organization.created': 'none',
  'organization.updated': 'organization',
  'organization.suspended': 'organization',
  'organization.reactivated': 'organization',
  'organization.deleted': 'organization',
  'member.added': 'none',
  'policy.refused': 'none',
  'webhook.created': 'none',
  'webhook.updated': 'none',
  'webhook.deleted': 'none',
  'webhook.secretRotated': 'none',
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
    case 'none':
      return [];
  }
}
