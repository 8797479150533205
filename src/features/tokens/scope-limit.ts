import { delegableScopes, isScope, type Scope, scopes } from '../../contract/scopes.ts';
import type { Delegation } from '../../kernel/caller.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { failToken } from '../../kernel/fail.ts';
import type { AgentClaim, AudienceScopes, ResourceClaim } from '../resources/audience-scopes.ts';
import type { OtherUse, ResourceTarget } from '../resources/targets-store.ts';
import { scopesEpoch } from './access-token-claims.ts';
import type { ResourceContents, TokenContents } from './draft-token.ts';
import type { TokenDeps } from './feature.ts';
import type { AuthorizedToken } from './grant.ts';
import { type AgentStatus, type ClientStatus, findAgentStatuses, statusOfPerson } from './store.ts';

/**
 * The scopes that a token can carry now. For an agent's own token: the agent's allowed scopes. For a delegated token: those of the
 * subject, without the operator's scope; the allowed scopes of the actor and of the agents between do not count.
 */
export const scopeLimit = (
  owner: { readonly allowedScopes: readonly string[] },
  delegation: Delegation | undefined,
): readonly Scope[] =>
  (delegation ? delegableScopes : scopes).filter((scope) => owner.allowedScopes.includes(scope));

/**
 * The one place that limits the scopes of new tokens, for every grant type. Our own API: the owner's allowed scopes; those it may
 * not hold are left out. A registered resource: the owner's grant for it. Another audience: refused, or as for our own API.
 */
export type LimitScopes = (
  tx: Queryable,
  client: ClientStatus,
  authorized: AuthorizedToken,
) => Promise<TokenContents>;

type LimitDeps = Pick<
  TokenDeps,
  'issuer' | 'audienceScopes' | 'findOtherUse' | 'findTargets' | 'findPersonTarget' | 'findLenders'
>;

export const createLimitScopes =
  ({
    issuer,
    audienceScopes,
    findOtherUse,
    findTargets,
    findPersonTarget,
    findLenders,
  }: LimitDeps): LimitScopes =>
  async (tx, client, { scopes: authorized, exact = false, ...token }) => {
    const { delegation, audience } = token;
    const otherAgents = delegation ? await findOthers(tx, client, delegation, findLenders) : [];
    const ownerId = delegation?.subjectId ?? client.agentId;
    const owner = [client, ...otherAgents].find(({ agentId }) => agentId === ownerId);
    if (!owner) return failToken('unauthorized_client', 'the subject does not exist');
    const ownScopes = () => scopeLimit(owner, delegation);
    const contents = { ...token, otherAgents };
    if (audience === issuer) return { ...contents, scope: within(ownScopes(), authorized).join(' ') };
    const findTarget = async () => {
      const query = { ownerId, clientId: client.agentId, audience };
      return delegation?.subjectType ? findPersonTarget(tx, query) : (await findTargets(tx, [query]))[0];
    };
    const target = readTarget(client, token) ? client.target : await findTarget();
    const found = audienceScopes(target, client.organizationId);
    if (target) {
      const carried = resourceScopes(found, authorized, { exact, mayBeEmpty: !!token.authorizationDetails });
      return { ...contents, scope: carried.join(' '), resource: resourceContents(target, carried) };
    }
    if (found.kind !== 'own') return refuseTarget(unregisteredReason);
    const use = await findOtherUse(tx, client.organizationId, audience, canonicalSpellings(audience));
    if (use) return refuseTarget(otherUses[use]);
    const allowed = ownScopes();
    if (exact) requireAll(allowed, authorized);
    return { ...contents, scope: within(allowed, authorized).join(' ') };
  };

/** In the order of the limit. */
const within = (limit: readonly string[], authorized: AuthorizedToken['scopes']): readonly string[] =>
  authorized === 'all' ? limit : limit.filter((scope) => authorized.includes(scope));

/** Whether the token endpoint has read the grant of the client for its own token already. */
function readTarget(
  { target }: ClientStatus,
  { delegation, audience }: Pick<AuthorizedToken, 'delegation' | 'audience'>,
): boolean {
  if (target === undefined || delegation) return false;
  if (target && target.identifier !== audience) throw new Error('the grant of another audience was read');
  return true;
}

/** An API may compare audiences less strictly than we do. Registered identifiers are canonical, with or without a slash at the end. */
function canonicalSpellings(audience: string): string[] {
  const { origin, pathname } = new URL(audience);
  const host = origin.replace(/\.(?=$|:\d+$)/, '');
  const path = pathname.replace(/\/+$/, '');
  return [`${host}${path}`, `${host}${path}/`].filter((spelling) => spelling !== audience);
}

/** Why no token is issued for an audience that is no registered resource. A resource of another organization that is pending does not count. */
const otherUses: Readonly<Record<OtherUse, string>> = {
  spelling: 'another spelling of a registered API',
  pending: 'the identifier of the API is not verified',
};

/** Only for agents with a grant: their administrators can read it in the audit log and in a preview. */
export const ownerInactiveReason = 'the organization that owns the API is not active';

/** The same description for all reasons: whether another organization has registered an identifier is not the client's to know. */
const refuseTarget = (reason: string): never =>
  failToken(
    'invalid_target',
    'there is no grant for this API: it must be registered, and granted to the agent',
    reason,
  );

const unregisteredReason = 'not a registered API, or no grant for it';

function resourceScopes(
  found: AudienceScopes,
  authorized: AuthorizedToken['scopes'],
  { exact, mayBeEmpty }: { readonly exact: boolean; readonly mayBeEmpty: boolean },
): readonly string[] {
  if (found.kind === 'unregistered') return refuseTarget(unregisteredReason);
  if (found.kind === 'deleted') return refuseTarget('the API was deleted');
  if (found.kind === 'ownerInactive') return refuseTarget(ownerInactiveReason);
  if (found.kind !== 'granted') return refuseTarget('no grant for the API');
  const limit = found.scopes.toSorted();
  if (exact) requireAll(limit, authorized);
  const carried = within(limit, authorized);
  if (carried.length > 0 || (mayBeEmpty && authorized.length === 0)) return carried;
  // A trust policy or a delegation for our own API only.
  const isForOwnApi = authorized !== 'all' && authorized.every(isScope);
  return isForOwnApi ? refuseTarget('no scope of the API was passed on') : refuseScope(limit);
}

function requireAll(limit: readonly string[], authorized: AuthorizedToken['scopes']): void {
  if (authorized !== 'all' && authorized.some((scope) => !limit.includes(scope))) refuseScope(limit);
}

const refuseScope = (limit: readonly string[]): never =>
  failToken(
    'invalid_scope',
    `invalid scope: a token for this API can carry ${limit.join(' ') || 'none'}`,
    'scope not allowed',
  );

const claimNames = {
  agentType: 'agent_type',
  capabilities: 'capabilities',
  owner: 'owner',
  deploymentEnv: 'deployment_env',
  version: 'agent_version',
} as const satisfies Record<AgentClaim, string>;

/** Of a token whose subject is a person. The provider's identifiers let an API find its own user. */
const personClaims: Readonly<
  Record<Exclude<ResourceClaim, AgentClaim>, (person: NonNullable<ResourceTarget['person']>) => object>
> = {
  personName: ({ name }) => ({ person_name: name }),
  personEmail: ({ email }) => (email === null ? {} : { person_email: email }),
  personSubject: ({ issuer, subject }) => ({ person_iss: issuer, person_sub: subject }),
};

function claimsOf({ claims, client, person }: ResourceTarget): Record<string, unknown> {
  const carried: Record<string, unknown> = {};
  for (const claim of claims)
    if (!(claim in personClaims)) carried[claimNames[claim as AgentClaim]] = client[claim as AgentClaim];
    else if (person) Object.assign(carried, personClaims[claim as keyof typeof personClaims](person));
  return carried;
}

const resourceContents = (target: ResourceTarget, carried: readonly string[]): ResourceContents => ({
  lifetimeSeconds: target.tokenLifetimeSeconds,
  claims: claimsOf(target),
  heldSince: Math.max(...carried.map((scope) => Date.parse(target.held[scope] ?? ''))),
  epoch: scopesEpoch(target.epochs, carried),
});

/** The agents of the delegation besides the client, and its subject, also if it is a person. */
async function findOthers(
  tx: Queryable,
  client: AgentStatus,
  { subjectId, subjectType, actorIds }: Delegation,
  findLenders: LimitDeps['findLenders'],
): Promise<AgentStatus[]> {
  const agentIds = subjectType ? actorIds : [subjectId, ...actorIds];
  const others = await findAgentStatuses(
    tx,
    agentIds.filter((id) => id !== client.agentId),
  );
  if (!subjectType) return [...others.values()];
  const person = (await findLenders(tx, [subjectId])).get(subjectId);
  return [...others.values(), ...(person ? [statusOfPerson(client, person)] : [])];
}
