/** Resources (the customers' own APIs) and grants, as tokens, delegations and trust policies depend on them. */
import type { Caller } from '../caller.ts';
import type { Queryable, Tx } from '../data/db.ts';
import { type Sql, sql } from '../data/sql.ts';

/** The agent's fields that a resource's tokens can carry as claims. */
export const resourceClaims = ['agentType', 'capabilities', 'owner', 'deploymentEnv', 'version'] as const;
export type ResourceClaim = (typeof resourceClaims)[number];

export interface RegisteredResource {
  readonly resourceId: string;
  /** The owner. */
  readonly organizationId: string;
  readonly identifier: string;
  /** Its identifier stays reserved, and no token is issued for it. */
  readonly deleted: boolean;
  /** No token is issued for a resource of an organization that is suspended or deleted. */
  readonly ownerActive: boolean;
  readonly tokenLifetimeSeconds: number;
  readonly claims: readonly ResourceClaim[];
}

/** Each scope that an agent may hold for a resource, with the time since when it has held it. */
export type HeldScopes = Readonly<Record<string, string>>;

/** The epoch of the grant when the agent got the scope; a scope without an entry counts as 0. */
export type ScopeEpochs = Readonly<Record<string, number>>;

/**
 * In the column `identifier` of a resource with a loopback identifier, where identifiers are proven: only agents of its own organization
 * get tokens for it, and other organizations can have the same. No request can name it.
 */
export const localName = (organizationId: string, identifier: string): string =>
  `local:${organizationId}:${identifier}`;

/** Of a resource `r`; the column `identifier` may have another name for it. */
export const shownIdentifier = sql`coalesce(r.pending_identifier, r.identifier)`;

/** The resource `r`, if any, that an audience means for the agents of an organization: its own local one first. */
export const resourceOf = (audience: Sql, organizationId: Sql): Sql => sql`
  lateral (select * from resources
           where identifier in (${audience}, 'local:' || ${organizationId} || ':' || ${audience})
           order by identifier = ${audience} limit 1) r on true`;

export interface AgentGrant {
  readonly resource: RegisteredResource;
  /** Empty without a grant. */
  readonly scopes: HeldScopes;
}

/**
 * The scopes of a token for an audience other than our own API. `own`: the audience is not registered, and tokens for it have scopes of
 * our own API. The other kinds: no token.
 */
export type AudienceScopes =
  | { readonly kind: 'own' }
  | { readonly kind: 'granted'; readonly scopes: readonly string[] }
  | { readonly kind: NoAudienceScopes };
export type NoAudienceScopes = 'unregistered' | 'deleted' | 'ungranted' | 'ownerInactive';

export function audienceScopes(
  resource:
    | (Pick<RegisteredResource, 'organizationId' | 'deleted' | 'ownerActive'> & { readonly held: HeldScopes })
    | null
    | undefined,
  /** Of the agent. */
  organizationId: string,
  unregisteredResources: 'allow' | 'refuse',
): AudienceScopes {
  if (!resource) return { kind: unregisteredResources === 'allow' ? 'own' : 'unregistered' };
  const scopes = Object.keys(resource.held);
  // Its log has the reason of a refusal, which must not tell which identifiers other organizations have.
  if (scopes.length === 0 && resource.organizationId !== organizationId) return { kind: 'unregistered' };
  if (resource.deleted) return { kind: 'deleted' };
  // First: the status of the owner is only for organizations that have a grant.
  if (scopes.length === 0) return { kind: 'ungranted' };
  return resource.ownerActive ? { kind: 'granted', scopes } : { kind: 'ownerInactive' };
}

/** The same for an agent's grant. */
export const audienceScopesOf = (
  grant: AgentGrant | undefined,
  organizationId: string,
  unregisteredResources: 'allow' | 'refuse',
): AudienceScopes =>
  audienceScopes(grant && { ...grant.resource, held: grant.scopes }, organizationId, unregisteredResources);

/** None for a resource that does not exist or was deleted, or whose owner is not active. */
export function grantedScopes(grant: AgentGrant | undefined): readonly string[] {
  if (!grant) return [];
  const found = audienceScopesOf(grant, grant.resource.organizationId, 'refuse');
  return found.kind === 'granted' ? found.scopes : [];
}

export interface GrantQuery {
  readonly agentId: string;
  readonly identifier: string;
}

export interface ResourceAccess {
  /** Undefined when no resource has, or had, this identifier. */
  findGrant(db: Queryable, agentId: string, identifier: string): Promise<AgentGrant | undefined>;
  /** The same for many, in the order of the queries. */
  findGrants(db: Queryable, queries: readonly GrantQuery[]): Promise<(AgentGrant | undefined)[]>;
  /**
   * FORBIDDEN unless the caller could make every grant of this agent itself: a caller that gives an agent a secret, a key or a trust
   * policy can act as that agent.
   */
  refuseGrantsBeyond(
    tx: Tx,
    caller: Caller,
    agent: { readonly agentId: string; readonly organizationId: string },
  ): Promise<void>;
  /**
   * FORBIDDEN when the agent has a grant for a resource whose tokens carry one of these fields, unless the caller could make that grant by
   * something other than a grant of its own. It holds for the agent itself too: an agent does not vouch for itself. A workload makes no
   * grant to its own agent, so it never vouches for it.
   */
  refuseClaimChange(
    tx: Tx,
    caller: Caller,
    agent: { readonly agentId: string; readonly organizationId: string },
    fields: readonly string[],
  ): Promise<void>;
}
