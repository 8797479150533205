/** What a token is worth now: the signature says that it was ours, its standing that it still holds. */
import { isScope, type Scope } from '../../contract/scopes.ts';
import type { Identity } from '../../kernel/guard.ts';
import { isUuid, timeOfUuid } from '../../kernel/ids.ts';
import { createRecent } from '../../kernel/recent.ts';
import type { Claims } from '../../kernel/signer.ts';
import type { TokenDeps } from './feature.ts';
import type { Standing } from './store.ts';

const textClaims = ['aud', 'sub', 'client_id', 'scope', 'organization_id', 'jti'] as const;
const timeClaims = ['iat', 'exp'] as const;

type OurClaims = Record<(typeof textClaims)[number], string> & Record<(typeof timeClaims)[number], number>;

/** A signature of ours on anything else is a defect of ours, which must not reach SQL nor pass for a scope. */
const isOurShape = (claims: Claims): claims is OurClaims =>
  textClaims.every((name) => typeof claims[name] === 'string') &&
  timeClaims.every((name) => Number.isInteger(claims[name])) &&
  isUuid(String(claims.client_id)) &&
  isUuid(String(claims.jti)) &&
  isUuid(String(claims.organization_id)) &&
  claims.sub === claims.client_id;

interface Verified {
  readonly claims: OurClaims;
  readonly scopes: readonly Scope[];
}

export interface Inspected {
  readonly claims: OurClaims;
  readonly standing: Standing;
  /** What the agent may no longer hold is gone from its live tokens too. */
  readonly scopes: Scope[];
}

/** With an audience only tokens for it count; without, those for any resource. */
export type Inspect = (token: string, audience?: string) => Promise<Inspected | undefined>;

/** Enough for the tokens of ten thousand busy agents, at some 2 KB each. */
const rememberedTokens = 10_000;

/** Undefined for what is no unexpired token of ours, or was revoked, or whose agent is not active. */
export function createInspect({ clock, signer, standings }: TokenDeps): Inspect {
  const verified = createRecent<Verified>(rememberedTokens);

  /** By its exact text, so a token's signature is checked once; all that can change is looked at each time. */
  const verify = async (token: string): Promise<Verified | undefined> => {
    const known = verified.get(token);
    if (known) return known.claims.exp * 1000 > clock.now() ? known : undefined;
    const claims = await signer.verify(token, {
      typ: 'at+jwt',
      requiredClaims: [...textClaims, ...timeClaims],
    });
    if (!claims || !isOurShape(claims)) return undefined;
    const entry = { claims, scopes: claims.scope.split(' ').filter(isScope) };
    verified.set(token, entry);
    return entry;
  };

  return async (token, audience) => {
    const entry = await verify(token);
    if (!entry || (audience !== undefined && entry.claims.aud !== audience)) return undefined;
    const { claims, scopes } = entry;
    const { client_id: agentId, organization_id: organizationId, jti: tokenId } = claims;
    const standing = await standings.of({ tokenId, agentId, organizationId });
    if (standing?.agentStatus !== 'active') return undefined;
    if (standing.tokensEndedAt && timeOfUuid(tokenId) <= Date.parse(standing.tokensEndedAt)) return undefined;
    return { claims, standing, scopes: scopes.filter((scope) => standing.allowedScopes.includes(scope)) };
  };
}

/** For the guard, which looks at the organization itself: its suspension has an answer of its own. */
export const identifyBy =
  (inspect: Inspect, ourselves: string) =>
  async (token: string): Promise<Identity | undefined> => {
    const inspected = await inspect(token, ourselves);
    if (!inspected) return undefined;
    const { claims, standing, scopes } = inspected;
    const { agentId, organizationId, organizationStatus, planTier } = standing;
    return {
      agentId,
      organizationId,
      organizationStatus,
      planTier,
      scopes: new Set(scopes),
      tokenId: claims.jti,
    };
  };
