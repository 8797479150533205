import { type PlanTier, plans } from '../../contract/limits.ts';
import { type Actor, type Caller, isOperator, refuseEscalation } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { timeRangeOf } from '../../kernel/http/input/time-range.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { organization as organizationResource, type Role } from '../../kernel/policy.ts';
import type { Agent } from '../agents/schema.ts';
import type { OrganizationDeps } from './feature.ts';
import { createMemberService, type MemberService, refuseLastAdmin } from './members.ts';
import { type Admin, findRole } from './members-store.ts';
import type { NewOrganization, Organization, OrganizationChange, OrganizationQuery } from './schema.ts';
import {
  findOrganization,
  findOrganizationBySlug,
  insertOrganization,
  listDeleted,
  listOrganizations,
  lockOrganization,
  type StoredOrganization,
  updateOrganization,
} from './store.ts';
import { eventOf, type OrganizationStatus } from './transitions.ts';

interface OrganizationPlan {
  readonly planTier: PlanTier;
  readonly maxAgents: number;
  readonly status: OrganizationStatus;
}

/** The organization's own limits; null where the plan's limit holds. */
interface LimitOverrides {
  readonly maxAgents: number | null;
  readonly maxTokensPerMonth: number | null;
}

/** An agent that the caller is about to give a secret, a key or a trust policy. */
type ImpersonationTarget = Pick<Agent, 'agentId' | 'organizationId' | 'allowedScopes'>;

type RoleHolder = Pick<Caller, 'organizationId' | 'agentId' | 'trustPolicyId' | 'delegation' | 'person'>;

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

export function createOrganizationService(deps: OrganizationDeps): OrganizationService {
  const { db, clock, ids, ledger, requirePermission, findPolicyPower, refuseLastingPower } = deps;

  const register: OrganizationService['register'] = async (tx, actor, wanted) => {
    const now = isoTime(clock);
    const stored: StoredOrganization = {
      organizationId: ids.uuid(),
      name: wanted.name,
      slug: wanted.slug,
      planTier: wanted.planTier ?? 'free',
      maxAgents: wanted.maxAgents ?? null,
      maxTokensPerMonth: wanted.maxTokensPerMonth ?? null,
      status: 'active',
      createdAt: now,
      updatedAt: now,
    };
    if (!(await insertOrganization(tx, stored))) fail('ORG_ALREADY_EXISTS', { details: { field: 'slug' } });
    const { organizationId, name, slug, planTier } = stored;
    await ledger.record(tx, actor, 'organization.created', {
      organizationId,
      agentId: actor.agentId,
      metadata: { name, slug, planTier },
    });
    return toOrganization(stored);
  };

  /**
   * A delegation carries scopes, not roles: a delegated caller has no role, not even its own. A person has the role that the invitation
   * gave, not the one of the agent. A workload has the role admin of its agent only if its trust policy says so.
   */
  const roleIn = async (within: Queryable, holder: RoleHolder): Promise<Role> => {
    const { organizationId, agentId, trustPolicyId, delegation, person } = holder;
    if (delegation) return 'none';
    if (person) return person.role === 'admin' ? 'admin' : 'none';
    const role = (await findRole(within, organizationId, agentId)) ?? 'none';
    if (role !== 'admin' || trustPolicyId === undefined) return role;
    return (await findPolicyPower(within, holder)).actsAsAdmin ? 'admin' : 'member';
  };

  /** Only operators see a deleted organization, and nothing changes it. */
  const lockUndeleted = async (tx: Tx, orgId: string): Promise<StoredOrganization> => {
    const stored = await lockOrganization(tx, orgId);
    return stored && stored.status !== 'deleted' ? stored : fail('ORG_NOT_FOUND');
  };

  const apply = async (
    tx: Tx,
    caller: Actor & { agentId: string },
    orgId: string,
    change: Omit<OrganizationChange, 'status'> & { status?: OrganizationStatus },
    reason: Record<string, unknown> = {},
  ): Promise<Organization> => {
    const before = await lockUndeleted(tx, orgId);
    const after: StoredOrganization = { ...before, ...change, updatedAt: isoTime(clock) };
    const changed = (Object.keys(change) as (keyof typeof change)[]).filter(
      (key) => before[key] !== after[key],
    );
    if (changed.length === 0) return toOrganization(before);
    await updateOrganization(tx, after);
    await ledger.record(tx, caller, eventOf(before.status, after.status), {
      organizationId: after.organizationId,
      agentId: caller.agentId,
      metadata: { changed, ...change, ...reason },
    });
    return toOrganization(after);
  };

  const get: OrganizationService['get'] = async (caller, orgId) => {
    const stored = await findOrganization(db, orgId);
    if (!stored || (stored.status === 'deleted' && !isOperator(caller))) fail('ORG_NOT_FOUND');
    return toOrganization(stored);
  };

  return {
    register,
    create: (caller, wanted) => db.transaction((tx) => register(tx, caller, wanted)),

    async list(caller, query) {
      const tenant = isOperator(caller) ? undefined : caller.organizationId;
      const { rows, total } = await listOrganizations(db, tenant, query, timeRangeOf(query));
      return pageOf(query, rows.map(toOrganization), total);
    },

    get,

    async update(caller, orgId, change) {
      const { name: _, ...beyondName } = change;
      if (Object.keys(beyondName).length > 0) {
        await requirePermission(caller, 'organizations:configure', organizationResource(orgId), {
          message: "You may change the name only; plan, limits and status are the operator's.",
        });
      }
      refuseEndingOwnOrganization(caller, orgId, change.status === 'suspended');
      return db.transaction((tx) => apply(tx, caller, orgId, change));
    },

    async remove(caller, orgId) {
      refuseEndingOwnOrganization(caller, orgId, true);
      await db.transaction((tx) => apply(tx, caller, orgId, { status: 'deleted' }));
    },

    ...createMemberService({ ...deps, get, lockUndeleted }),

    findBySlug: findOrganizationBySlug,
    planOf: (organizationId) => findOrganization(db, organizationId),

    async lockOrganization(tx, organizationId) {
      const stored = await lockOrganization(tx, organizationId);
      return stored && stored.status !== 'deleted' ? toOrganization(stored) : undefined;
    },

    async describe(queryable, organizationId) {
      const stored = await findOrganization(queryable, organizationId);
      return stored && toOrganization(stored);
    },

    deletedAmong: listDeleted,

    async setPlan(tx, actor, organizationId, planTier, reason) {
      const before = await lockOrganization(tx, organizationId);
      if (!before || before.status === 'deleted' || before.planTier === planTier) return false;
      await apply(tx, actor, organizationId, { planTier }, reason);
      return true;
    },

    async refuseImpersonation(tx, caller, agent) {
      await refuseLastingPower(tx, caller, agent.agentId);
      refuseEscalation(caller, agent.allowedScopes);
      if (isOperator(caller)) return;
      const role = await findRole(tx, agent.organizationId, agent.agentId);
      if (role === 'admin' && (await roleIn(tx, caller)) !== 'admin') {
        fail('FORBIDDEN', {
          message:
            'This agent has the role admin in its organization; this operation needs the same role, or scope admin:orgs.',
        });
      }
    },

    refuseLastAdmin,

    roleOf: (agent, within = db) => roleIn(within, agent),
    async statusOf(organizationId) {
      return (await findOrganization(db, organizationId))?.status;
    },
  };
}

/** On the wire a limit is always a number: the organization's override, or its plan's. */
const toOrganization = (stored: StoredOrganization): Organization => ({
  ...stored,
  maxAgents: stored.maxAgents ?? plans[stored.planTier].maxAgents,
  maxTokensPerMonth: stored.maxTokensPerMonth ?? plans[stored.planTier].maxTokensPerMonthPerClient,
});

/** An operator that ends its own organization would lock all operators out of the instance. */
function refuseEndingOwnOrganization(caller: Caller, orgId: string, ends: boolean): void {
  if (ends && orgId.toLowerCase() === caller.organizationId) {
    fail('FORBIDDEN', { message: 'You cannot suspend or delete the organization you belong to yourself.' });
  }
}
