import { type PlanTier, plans } from '../../contract/limits.ts';
import {
  type Actor,
  type Caller,
  isOperator,
  refuseEscalation,
  refuseLastingPower,
} from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { organization as organizationResource, type Role } from '../../kernel/policy.ts';
import type { OrganizationDeps } from './deps.ts';
import type {
  Membership,
  NewMember,
  NewOrganization,
  Organization,
  OrganizationChange,
  OrganizationQuery,
} from './schema.ts';
import {
  findOrganization,
  findOrganizationBySlug,
  findRole,
  insertMembership,
  insertOrganization,
  listDeleted,
  listOrganizations,
  lockOrganization,
  type StoredOrganization,
  updateOrganization,
} from './store.ts';
import { eventOf, type OrganizationStatus } from './transitions.ts';

export interface OrganizationPlan {
  readonly planTier: PlanTier;
  readonly maxAgents: number;
  readonly status: OrganizationStatus;
}

/** Null: the plan's own figure holds. */
export type LimitOverrides = Pick<StoredOrganization, 'maxAgents' | 'maxTokensPerMonth'>;

export interface OrganizationService {
  create(caller: Caller, wanted: NewOrganization): Promise<Organization>;
  list(caller: Caller, query: OrganizationQuery): Promise<Page<Organization>>;
  get(caller: Caller, orgId: string): Promise<Organization>;
  update(caller: Caller, orgId: string, change: OrganizationChange): Promise<Organization>;
  remove(caller: Caller, orgId: string): Promise<void>;
  addMember(caller: Caller, orgId: string, wanted: NewMember): Promise<Membership>;
  /** The change itself, for `create` and for bootstrap, whose actor is the operator about to exist. */
  register(tx: Tx, actor: Actor & { agentId: string }, wanted: NewOrganization): Promise<Organization>;
  findBySlug(tx: Tx, slug: string): Promise<{ organizationId: string } | undefined>;
  /** The plan and the standing, kept from changing until the transaction ends; undefined when the organization is deleted or unknown. */
  lockPlan(tx: Tx, organizationId: string): Promise<OrganizationPlan | undefined>;
  /** The plan as it stands, with the organization's own figures; undefined when there is no such organization. */
  planOf(organizationId: string): Promise<(Omit<OrganizationPlan, 'maxAgents'> & LimitOverrides) | undefined>;
  /** What others may show of an organization, whoever asks; undefined when it is unknown. */
  describe(db: Queryable, organizationId: string): Promise<Organization | undefined>;
  deletedAmong(db: Queryable, organizationIds: readonly string[]): Promise<string[]>;
  /**
   * What is paid for, or no longer. Recorded as a PATCH would be, with the reason; false when nothing had to change, or
   * the organization is deleted or unknown.
   */
  setPlan(
    tx: Tx,
    actor: Actor & { agentId: string },
    organizationId: string,
    planTier: PlanTier,
    because: Record<string, unknown>,
  ): Promise<boolean>;
  /** Undefined when there is no such organization. */
  statusOf(organizationId: string): Promise<OrganizationStatus | undefined>;
  /** The caller's membership in its own organization. */
  roleOf(caller: Caller): Promise<Role>;
  /**
   * Whoever gives an agent a secret or a key can speak as that agent, so they must hold what it holds: its scopes, and
   * the role of admin.
   */
  refuseImpersonation(tx: Tx, caller: Caller, agent: ImpersonationTarget): Promise<void>;
}

export interface ImpersonationTarget {
  readonly agentId: string;
  readonly organizationId: string;
  readonly allowedScopes: readonly string[];
}

export function createOrganizationService(deps: OrganizationDeps): OrganizationService {
  const { db, clock, ids, ledger, requirePermission, agentFor } = deps;

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

  /** A deleted organization is shown to the operator, and exists for nobody else and no change. */
  const lockUndeleted = async (tx: Tx, orgId: string): Promise<StoredOrganization> => {
    const stored = await lockOrganization(tx, orgId);
    return stored && stored.status !== 'deleted' ? stored : fail('ORG_NOT_FOUND');
  };

  const apply = async (
    tx: Tx,
    caller: Actor & { agentId: string },
    orgId: string,
    change: Omit<OrganizationChange, 'status'> & { status?: OrganizationStatus },
    because: Record<string, unknown> = {},
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
      metadata: { changed, ...change, ...because },
    });
    return toOrganization(after);
  };

  return {
    register,
    create: (caller, wanted) => db.transaction((tx) => register(tx, caller, wanted)),

    async list(caller, query) {
      const only = isOperator(caller) ? undefined : caller.organizationId;
      const { rows, total } = await listOrganizations(db, only, query);
      return pageOf(query, rows.map(toOrganization), total);
    },

    async get(caller, orgId) {
      const stored = await findOrganization(db, orgId);
      if (!stored || (stored.status === 'deleted' && !isOperator(caller))) fail('ORG_NOT_FOUND');
      return toOrganization(stored);
    },

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

    async addMember(caller, orgId, { agentId, role }) {
      const agent = await agentFor(caller, agentId);
      return db.transaction(async (tx) => {
        const { organizationId } = await lockUndeleted(tx, orgId);
        const membership: Membership = {
          memberId: ids.uuid(),
          organizationId,
          agentId: agent.agentId,
          role,
          joinedAt: isoTime(clock),
        };
        if (!(await insertMembership(tx, membership))) fail('MEMBER_ALREADY_EXISTS');
        await ledger.record(tx, caller, 'member.added', {
          organizationId,
          agentId: agent.agentId,
          metadata: { memberId: membership.memberId, role },
        });
        return membership;
      });
    },

    findBySlug: findOrganizationBySlug,
    planOf: (organizationId) => findOrganization(db, organizationId),

    async lockPlan(tx, organizationId) {
      const stored = await lockOrganization(tx, organizationId);
      return stored && stored.status !== 'deleted' ? toOrganization(stored) : undefined;
    },

    async describe(queryable, organizationId) {
      const stored = await findOrganization(queryable, organizationId);
      return stored && toOrganization(stored);
    },

    deletedAmong: listDeleted,

    async setPlan(tx, actor, organizationId, planTier, because) {
      const before = await lockOrganization(tx, organizationId);
      if (!before || before.status === 'deleted' || before.planTier === planTier) return false;
      await apply(tx, actor, organizationId, { planTier }, because);
      return true;
    },

    async refuseImpersonation(tx, caller, agent) {
      refuseEscalation(caller, agent.allowedScopes);
      refuseLastingPower(caller, agent.agentId);
      if (isOperator(caller)) return;
      const role = await findRole(tx, agent.organizationId, agent.agentId);
      if (role === 'admin' && (await roleIn(tx, caller)) !== 'admin') {
        fail('FORBIDDEN', { message: 'This agent administers its organization, and you do not.' });
      }
    },

    roleOf: (caller) => roleIn(db, caller),
    async statusOf(organizationId) {
      return (await findOrganization(db, organizationId))?.status;
    },
  };
}

/** Scopes can be delegated, an office cannot: whoever acts on another's behalf holds none, not even its own. */
const roleIn = async (db: Queryable, { organizationId, agentId, delegation }: Caller): Promise<Role> =>
  delegation ? 'none' : ((await findRole(db, organizationId, agentId)) ?? 'none');

/** On the wire a maximum is always a number: the organization's own, or its plan's. */
const toOrganization = (stored: StoredOrganization): Organization => ({
  ...stored,
  maxAgents: stored.maxAgents ?? plans[stored.planTier].maxAgents,
  maxTokensPerMonth: stored.maxTokensPerMonth ?? plans[stored.planTier].maxTokensPerMonthPerClient,
});

/** An operator who ended its own organization would lock everybody out of the instance, itself included. */
function refuseEndingOwnOrganization(caller: Caller, orgId: string, ends: boolean): void {
  if (ends && orgId.toLowerCase() === caller.organizationId) {
    fail('FORBIDDEN', { message: 'You cannot suspend or delete the organization you belong to yourself.' });
  }
}
