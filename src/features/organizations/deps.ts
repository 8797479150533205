import type { PlanTier } from '../../contract/limits.ts';
import type { Actor, Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { Page } from '../../kernel/http/page.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { RequirePermission, Role } from '../../kernel/policy.ts';
import type { FindPolicyPower } from '../../kernel/ports/trust-policies.ts';
import type { Admin } from './members-store.ts';
import type {
  MemberChange,
  MemberParams,
  MemberQuery,
  Membership,
  NewMember,
  NewOrganization,
  Organization,
  OrganizationChange,
  OrganizationQuery,
} from './schema.ts';
import type { OrganizationStatus } from './transitions.ts';

export interface OrganizationDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly requirePermission: RequirePermission;
  /** The agent, if the caller may see it; AGENT_NOT_FOUND otherwise. */
  agentFor(caller: Caller, agentId: string): Promise<{ agentId: string }>;
  readonly findPolicyPower: FindPolicyPower;
}

export interface OrganizationPlan {
  readonly planTier: PlanTier;
  readonly maxAgents: number;
  readonly status: OrganizationStatus;
}

/** The organization's own limits; null where the plan's limit holds. */
export interface LimitOverrides {
  readonly maxAgents: number | null;
  readonly maxTokensPerMonth: number | null;
}

/** An agent that the caller is about to give a secret, a key or a trust policy. */
export interface ImpersonationTarget {
  readonly agentId: string;
  readonly organizationId: string;
  readonly allowedScopes: readonly string[];
}

export type RoleHolder = Pick<
  Caller,
  'organizationId' | 'agentId' | 'trustPolicyId' | 'delegation' | 'person'
>;

export interface MemberService {
  listMembers(caller: Caller, orgId: string, query: MemberQuery): Promise<Page<Membership>>;
  addMember(caller: Caller, orgId: string, wanted: NewMember): Promise<Membership>;
  updateMember(caller: Caller, member: MemberParams, change: MemberChange): Promise<Membership>;
  removeMember(caller: Caller, member: MemberParams): Promise<void>;
}

export interface OrganizationService extends MemberService {
  create(caller: Caller, wanted: NewOrganization): Promise<Organization>;
  list(caller: Caller, query: OrganizationQuery): Promise<Page<Organization>>;
  get(caller: Caller, orgId: string): Promise<Organization>;
  update(caller: Caller, orgId: string, change: OrganizationChange): Promise<Organization>;
  remove(caller: Caller, orgId: string): Promise<void>;
  /** The insert itself, for `create` and for bootstrap, whose actor is the operator about to exist. */
  register(tx: Tx, actor: Actor & { agentId: string }, wanted: NewOrganization): Promise<Organization>;
  findBySlug(tx: Tx, slug: string): Promise<{ organizationId: string } | undefined>;
  /** The plan and the status, locked until the transaction ends; undefined when the organization is deleted or unknown. */
  lockOrganization(tx: Tx, organizationId: string): Promise<OrganizationPlan | undefined>;
  /** Without a lock, with the organization's own limits; undefined when the organization does not exist. */
  planOf(organizationId: string): Promise<(Omit<OrganizationPlan, 'maxAgents'> & LimitOverrides) | undefined>;
  /** The public fields of an organization, without authorization; undefined when it is unknown. */
  describe(db: Queryable, organizationId: string): Promise<Organization | undefined>;
  deletedAmong(db: Queryable, organizationIds: readonly string[]): Promise<string[]>;
  /**
   * Sets the plan after a payment, or when payments end. Recorded as a PATCH would be, with the reason; false when the plan is
   * the same already, or the organization is deleted or unknown.
   */
  setPlan(
    tx: Tx,
    actor: Actor & { agentId: string },
    organizationId: string,
    planTier: PlanTier,
    reason: Record<string, unknown>,
  ): Promise<boolean>;
  /** Undefined when the organization does not exist. */
  statusOf(organizationId: string): Promise<OrganizationStatus | undefined>;
  /** The role of a caller, or of any agent, in its own organization. */
  roleOf(agent: RoleHolder, within?: Queryable): Promise<Role>;
  /**
   * FORBIDDEN unless the caller holds the scopes of the agent, and the role admin if the agent does: a caller that gives an
   * agent a secret or a key can act as that agent.
   */
  refuseImpersonation(tx: Tx, caller: Caller, agent: ImpersonationTarget): Promise<void>;
  /**
   * LAST_ADMIN when no other admin would be left, unless the caller is an operator. The organization must be locked: of two admins that
   * remove each other at once, one succeeds.
   */
  refuseLastAdmin(tx: Tx, caller: Caller, organizationId: string, admin: Admin): Promise<void>;
}

export interface Organizations extends OrganizationService {
  readonly routes: readonly RouteEntry[];
}
