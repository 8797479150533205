/** What may become of an organization. `deleted` is reached by DELETE only, and nothing leads out of it. */
import type { EventType } from '../../contract/events.ts';

export type OrganizationStatus = 'active' | 'suspended' | 'deleted';

/** The event of each allowed step; a step that is not here is refused, and staying is no step. */
export const organizationTransitions: Readonly<
  Record<OrganizationStatus, Partial<Record<OrganizationStatus, EventType>>>
> = {
  active: { suspended: 'organization.suspended', deleted: 'organization.deleted' },
  suspended: { active: 'organization.reactivated', deleted: 'organization.deleted' },
  deleted: {},
};
