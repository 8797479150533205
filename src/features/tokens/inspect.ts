/** What a token is worth now: the signature says that it was ours, its standing that it still holds. */
import { isScope, type Scope } from '../../contract/scopes.ts';
import type { Delegation } from '../../kernel/caller.ts';
import { deepFreeze } from '../../kernel/data/deep-freeze.ts';
import { createLru } from '../../kernel/data/lru.ts';
import { memoize } from '../../kernel/data/memoize.ts';
import type { GuardDeps, Identity } from '../../kernel/http/guard.ts';
import { anonymous, isUuid, timeOfUuid } from '../../kernel/ids.ts';
import type { Claims } from '../../kernel/ports/signer.ts';
import { ceilingOf } from './ceiling.ts';
import type { TokenDeps } from './deps.ts';
import {
  type AgentPart,
  type Backing,
  subjectOf,
  type TokenStanding,
  type TokenSubject,
} from './standing.ts';
import type { Standing } from './store.ts';

const textClaims = ['aud', 'sub', 'client_id', 'scope', 'organization_id', 'jti'] as const;
const timeClaims = ['iat', 'exp'] as const;

type OurClaims = Record<(typeof textClaims)[number], string> &
  Record<(typeof timeClaims)[number], number> & {
    readonly act?: unknown;
    readonly chain_id?: unknown;
    readonly chain_path?: unknown;
  };

/** A signature of ours on anything else is a defect of ours, which must not reach SQL nor pass for a scope. */
const isOurShape = (claims: Claims): claims is OurClaims =>
  textClaims.every((name) => typeof claims[name] === 'string') &&
  timeClaims.every((name) => Number.isInteger(claims[name])) &&
  isUuid(String(claims.client_id)) &&
  isUuid(String(claims.jti)) &&
  isUuid(String(claims.organization_id));

interface Verified {
  readonly claims: OurClaims;
  readonly scopes: readonly Scope[];
  readonly subject: TokenSubject;
}

export interface Inspected {
  readonly claims: OurClaims;
  readonly standing: Standing;
  /** Scopes the agent may no longer hold are gone from its live tokens; of a delegated one, scopes the subject may not. */
  readonly scopes: readonly Scope[];
  readonly delegation?: Delegation;
  /** Good for nothing any more: what was delegated by it is over. */
  readonly ended?: NonNullable<Identity['ended']>;
}

/** With an audience only tokens for it count; without, those for any resource. */
export type Inspect = (token: string, audience?: string) => Promise<Inspected | undefined>;

export interface Inspector extends Pick<GuardDeps, 'authenticate' | 'explain'> {
  readonly inspect: Inspect;
}

/** Enough for the tokens of ten thousand busy agents, at some 3 KB each. */
const rememberedTokens = 10_000;

/**
 * Undefined for what is no unexpired token of ours, or was revoked, or whose agent is not active. Of a delegated one it is
 * still told when that ended with its chain.
 */
export function createInspector({ clock, signer, standings, issuer }: TokenDeps): Inspector {
  const verified = createLru<Verified>(rememberedTokens);
  const isOver = ({ claims }: Verified) => claims.exp * 1000 <= clock.now();

  /** Remembered by its exact text, so a token's signature is checked once; all that can change is looked at each time. */
  const verify = async (token: string): Promise<Verified | undefined> => {
    const claims = await signer.verify(token, {
      typ: 'at+jwt',
      requiredClaims: [...textClaims, ...timeClaims],
      allowExpired: true,
    });
    if (!claims || !isOurShape(claims)) return undefined;
    const delegation = readDelegation(claims);
    if (!delegation && (claims.sub !== claims.client_id || 'act' in claims || 'chain_id' in claims))
      return undefined;
    const scopes = claims.scope.split(' ').filter(isScope);
    const { client_id: agentId, organization_id: organizationId, jti: tokenId } = claims;
    const entry = { claims, scopes, subject: subjectOf({ tokenId, agentId, organizationId, delegation }) };
    if (!isOver(entry)) verified.set(token, entry);
    return entry;
  };

  /** Chains end with the suspension of any of their agents, and stay ended when it is reactivated. */
  const endOf = (tokenId: string, holder: AgentPart, { agents, chains }: Backing): Inspected['ended'] => {
    if (chains.some(({ revoked }) => revoked)) return 'DELEGATION_REVOKED';
    if ([holder, ...agents].some((agent) => !standsFor(tokenId, agent))) return 'DELEGATION_REVOKED';
    if (chains.some(({ expiresAt }) => Date.parse(expiresAt) <= clock.now())) return 'DELEGATION_EXPIRED';
    return undefined;
  };

  const carried = new WeakMap<TokenSubject, Inspected>();
  /** As long as a token stands as it did, it carries what it did. Many requests share it. */
  const carriedBy = ({ claims, scopes, subject }: Verified, standing: TokenStanding): Inspected => {
    const before = carried.get(subject);
    if (before?.standing === standing) return before;
    const { delegation } = subject;
    const ceiling = ceilingOf(ownerOf(subject, standing), delegation);
    const held = scopes.filter((scope) => ceiling.includes(scope));
    const inspected = deepFreeze({ claims, standing, scopes: held, ...(delegation && { delegation }) });
    carried.set(subject, inspected);
    return inspected;
  };

  const inspect: Inspect = async (token, audience) => {
    const entry = verified.get(token) ?? (await verify(token));
    if (!entry || (audience !== undefined && entry.claims.aud !== audience)) return undefined;
    const { tokenId, delegation } = entry.subject;
    if (isOver(entry) && !delegation) return undefined;
    const standing = await standings.of(entry.subject);
    if (!standing) return undefined;
    const ended = standing.backing && endOf(tokenId, standing, standing.backing);
    if (!ended && !standsFor(tokenId, standing)) return undefined;
    if (isOver(entry) && !ended) return undefined;
    const inspected = carriedBy(entry, standing);
    return ended ? { ...inspected, ended } : inspected;
  };

  return {
    inspect,
    authenticate: identifyBy(inspect, issuer),
    async explain(token) {
      const entry = verified.get(token) ?? (await verify(token));
      if (!entry) return { ...anonymous, reason: 'not one of ours' };
      const { client_id: agentId, organization_id: organizationId, aud } = entry.claims;
      const ended = isOver(entry) ? 'expired' : 'revoked, or of an agent that is not active';
      return { agentId, organizationId, reason: aud === issuer ? ended : 'for another audience' };
    },
  };
}

/** The agent whose scopes the token carries: its holder, or the subject on whose behalf the holder acts. */
function ownerOf({ delegation, others }: TokenSubject, standing: TokenStanding): AgentPart {
  const index = delegation ? others.indexOf(delegation.subjectId) : -1;
  return standing.backing?.agents[index] ?? standing;
}

/** Active, and the token is not from before it was suspended. */
const standsFor = (tokenId: string, { agentStatus, tokensEndedAt }: AgentPart): boolean =>
  agentStatus === 'active' && (tokensEndedAt === null || timeOfUuid(tokenId) > Date.parse(tokensEndedAt));

/** As mint.ts writes it; undefined for a token that acts on nobody's behalf, or says so in any other way. */
function readDelegation(claims: OurClaims): Delegation | undefined {
  const { sub: subjectId, client_id, chain_id, chain_path } = claims;
  const chainIds = Array.isArray(chain_path) ? chain_path.map(String) : [];
  const actorIds: string[] = [];
  let { act } = claims;
  while (typeof act === 'object' && act !== null && actorIds.length < chainIds.length) {
    const { sub, act: earlier } = act as { sub?: unknown; act?: unknown };
    actorIds.push(String(sub));
    act = earlier;
  }
  const whole =
    chainIds.length > 0 &&
    act === undefined &&
    actorIds.length === chainIds.length &&
    actorIds[0] === client_id &&
    chainIds.at(-1) === chain_id &&
    [subjectId, ...actorIds, ...chainIds].every(isUuid);
  return whole ? { subjectId, actorIds, chainIds } : undefined;
}

/** For the guard, which looks at the organization itself: its suspension has an answer of its own. */
function identifyBy(inspect: Inspect, ourselves: string): GuardDeps['authenticate'] {
  const identityOf = memoize(({ claims, standing, scopes, delegation, ended }: Inspected): Identity => {
    const { agentId, organizationId, organizationStatus, planTier, allowedScopes } = standing;
    return Object.freeze({
      agentId,
      organizationId,
      organizationStatus,
      planTier,
      scopes: new Set(scopes),
      grantableScopes: new Set(scopes.filter((scope) => allowedScopes.includes(scope))),
      tokenId: claims.jti,
      ...(delegation && { delegation }),
      ...(ended && { ended }),
    });
  });
  return async (token) => {
    const inspected = await inspect(token, ourselves);
    return inspected && identityOf(inspected);
  };
}
