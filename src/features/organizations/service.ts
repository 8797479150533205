import type { PlanTier } from '../../contract/limits.ts';
import type { Actor } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/db.ts';
import { fail } from '../../kernel/fail.ts';
import type { OrganizationDeps } from './feature.ts';
import type { Organization } from './schema.ts';
import { findOrganization, findOrganizationBySlug, insertOrganization } from './store.ts';

export interface NewOrganization {
  readonly name: string;
  readonly slug: string;
  readonly planTier: PlanTier;
}

export interface OrganizationService {
  /** `agentId` is whose act it is in the audit log. */
  register(tx: Tx, actor: Actor & { agentId: string }, wanted: NewOrganization): Promise<Organization>;
  findBySlug(tx: Tx, slug: string): Promise<Organization | undefined>;
  find(organizationId: string): Promise<Organization | undefined>;
}

export function createOrganizationService({ db, clock, ids, ledger }: OrganizationDeps): OrganizationService {
  return {
    async register(tx, actor, wanted) {
      const now = isoTime(clock);
      const organization: Organization = {
        ...wanted,
        organizationId: ids.uuid(),
        maxAgents: null,
        maxTokensPerMonth: null,
        status: 'active',
        createdAt: now,
        updatedAt: now,
      };
      if (!(await insertOrganization(tx, organization))) fail('ORG_ALREADY_EXISTS');
      const { organizationId, name, slug, planTier } = organization;
      await ledger.record(tx, actor, 'organization.created', {
        organizationId,
        agentId: actor.agentId,
        metadata: { name, slug, planTier },
      });
      return organization;
    },
    findBySlug: findOrganizationBySlug,
    find: (organizationId) => findOrganization(db, organizationId),
  };
}
