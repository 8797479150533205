/** State transitions of an organization. Only DELETE leads to `deleted`, which is final. */
import type { EventType } from '../../contract/events.ts';
import { fail } from '../../kernel/fail.ts';

export type OrganizationStatus = 'active' | 'suspended' | 'deleted';

/** The event of each allowed transition; others are refused. */
export const organizationTransitions: Readonly<
  Record<OrganizationStatus, Partial<Record<OrganizationStatus, EventType>>>
> = {
  active: { suspended: 'organization.suspended', deleted: 'organization.deleted' },
  suspended: { active: 'organization.reactivated', deleted: 'organization.deleted' },
  deleted: {},
};

export function eventOf(from: OrganizationStatus, to: OrganizationStatus): EventType {
  return from === to ? 'organization.updated' : (organizationTransitions[from][to] ?? fail('ORG_NOT_FOUND'));
}
