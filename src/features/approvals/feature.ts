/**
 * Approvals: an agent asks a person for an action (OpenID CIBA), with its details (RFC 9396), and the person decides in the console. Owns
 * `approvals`, `approval_policies` and `approval_notifications`. An approval becomes a delegation of the person who gave it: the
 * delegation feature keeps it, and its tokens come from there by the grant that is described here.
 */

import type { Caller } from '../../kernel/caller.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import type { Vault } from '../../kernel/data/vault.ts';
import type { GuardDeps } from '../../kernel/http/guard.ts';
import type { RecordRefusal } from '../../kernel/refusals.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { AgentService } from '../agents/service.ts';
import type { NewRefreshToken } from '../authorization/refresh-token.ts';
import type { Consents } from '../delegation/consents.ts';
import type { EventStreamService } from '../events/service.ts';
import type { OrganizationService } from '../organizations/service.ts';
import type { ResourceAccess } from '../resources/access.ts';
import type { Tokens } from '../tokens/feature.ts';
import type { ExternalClientAssertion, WorkloadAction } from '../tokens/grant.ts';
import { approvalPolicyRoutes } from './approval-policy-slice.ts';
import { createBackchannelAuthentication } from './backchannel.ts';
import { createCibaGrant } from './ciba-grant.ts';
import { createDecisions } from './decisions.ts';
import { createCancelWithAgent } from './listener.ts';
import { createExpiryLoop, createPurgeLoop } from './loops.ts';
import type { createApprovalNotifications } from './notifications.ts';
import { ownApprovalEventRoutes } from './own-events-slice.ts';
import { approvalRoutes } from './routes.ts';
import { createApprovalService } from './service.ts';

export { cancelingTypes } from './listener.ts';
export { createApprovalNotifications } from './notifications.ts';

export interface ApprovalDeps
  extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger'>,
    Pick<ResourceAccess, 'findLendingTarget' | 'readAuthorizationDetails' | 'detailsProblem'> {
  readonly issuer: string;
  readonly vault: Vault;
  readonly consents: Consents;
  readonly newRefreshToken: NewRefreshToken;
  readonly lockAgents: AgentService['lockAll'];
  readonly recordRefusal: RecordRefusal;
  readonly authenticateClient: GuardDeps['authenticateClient'];
  readonly findExternalAssertion: Tokens['findExternalAssertion'];
  authenticateWorkload<Result>(
    assertion: ExternalClientAssertion,
    act: WorkloadAction<Result>,
  ): Promise<Result>;
  isPublicClient(db: Queryable, clientId: string): Promise<boolean>;
  isAdmin(caller: Caller): Promise<boolean>;
  readonly organizationFor: OrganizationService['get'];
  readonly lockOrganization: OrganizationService['lockOrganization'];
  readonly openStream: EventStreamService['openPersonal'];
  readonly notifications: ReturnType<typeof createApprovalNotifications>;
}

export function createApprovals(deps: ApprovalDeps) {
  const backchannel = createBackchannelAuthentication(deps);
  return {
    routes: [
      ...approvalRoutes(backchannel, createApprovalService(deps), createDecisions(deps), deps.issuer),
      ...approvalPolicyRoutes(deps),
      ...ownApprovalEventRoutes(deps),
    ],
    loops: [createExpiryLoop(deps), createPurgeLoop(deps), ...deps.notifications.loops],
    grant: createCibaGrant(deps),
    requestAs: backchannel.requestAs,
    listener: createCancelWithAgent(deps),
  };
}

export type Approvals = ReturnType<typeof createApprovals>;
