/** The scopes that an agent may hold for a resource, as tokens, delegations and trust policies depend on them. */
/** The agent's fields that a resource's tokens can carry as claims. */
export const agentClaims = ['agentType', 'capabilities', 'owner', 'deploymentEnv', 'version'] as const;
export type AgentClaim = (typeof agentClaims)[number];

/** The person's, in tokens whose subject is a person. */
const personClaims = ['personName', 'personEmail', 'personSubject'] as const;

export const resourceClaims = [...agentClaims, ...personClaims] as const;
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

export interface PersonGrantQuery {
  readonly personId: string;
  readonly identifier: string;
}
