/** Resources (the customers' own APIs) and grants, as tokens, delegations and trust policies depend on them. */
import type { Caller } from '../caller.ts';
import type { Queryable, Tx } from '../data/db.ts';

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
  readonly tokenLifetimeSeconds: number;
  readonly claims: readonly ResourceClaim[];
}

/** Each scope that an agent may hold for a resource, with the time since when it has held it. */
export type HeldScopes = Readonly<Record<string, string>>;

export interface AgentGrant {
  readonly resource: RegisteredResource;
  /** Empty without a grant. */
  readonly scopes: HeldScopes;
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
}
