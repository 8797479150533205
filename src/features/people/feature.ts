/**
 * People: who may sign in through an OpenID provider, in which organization, as admin or viewer through an agent, or as a member who acts
 * through none. Owns `people`. The console feature signs people in, and ends their sessions when it hears of a change.
 */

import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { AgentService } from '../agents/service.ts';
import type { ConnectionAccess } from '../connections/service.ts';
import type { OrganizationService } from '../organizations/service.ts';
import { peopleRoutes } from './routes.ts';
import { createPeopleService } from './service.ts';

export { findLenders } from './lenders-store.ts';

export interface PeopleDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger'> {
  readonly lockOrganization: OrganizationService['lockOrganization'];
  readonly organizationFor: OrganizationService['get'];
  readonly lockAgent: AgentService['lock'];
  readonly refuseImpersonation: OrganizationService['refuseImpersonation'];
  readonly refuseLastAdmin: OrganizationService['refuseLastAdmin'];
  readonly findConnection: ConnectionAccess['findConnection'];
}

export type People = ReturnType<typeof createPeople>;

export function createPeople(deps: PeopleDeps) {
  const service = createPeopleService(deps);
  return { ...service, routes: peopleRoutes(service) };
}
