/**
 * Resources: the customers' own APIs, the organizations that they are shared with, and the grants that say which of their scopes an
 * agent may hold. Owns `resources`, `resource_shares`, `resource_share_offers`, `resource_grants` and `grant_epochs`, which a trigger
 * writes. A grant never exceeds its resource or share: a change that narrows either narrows the grants in the same transaction. The
 * tokens feature issues the tokens.
 */

import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { MayGrant, RequirePermission, Role } from '../../kernel/policy.ts';
import type { Outbound } from '../../kernel/ports/outbound.ts';
import { type ResourceAccess, resourceClaims } from '../../kernel/ports/resources.ts';
import type { FindPolicyPower } from '../../kernel/ports/trust-policies.ts';
import { refuseOwnAgent } from '../../kernel/provisioned-proofs.ts';
import { compareGrants, findAgentGrant, findAgentGrants, findGrantsCarrying } from './access-store.ts';
import { createGrantingRule, createRefusalRecorder, createRevocation, mayGrantAll } from './granting-rule.ts';
import { createGrantService } from './grants.ts';
import { listUsableGrants } from './grants-store.ts';
import type { IdentifierMode } from './identifier.ts';
import { resourceRoutes } from './routes.ts';
import type { Grant } from './schema.ts';
import { createResourceService } from './service.ts';
import { createReceivedShareService } from './shares/received-shares.ts';
import { shareRoutes } from './shares/share-routes.ts';
import { createShareService } from './shares/shares.ts';
import { createVerificationService } from './verification.ts';

export interface GrantedAgent {
  readonly agentId: string;
  readonly organizationId: string;
  readonly status: 'active' | 'suspended' | 'decommissioned';
}

export interface ResourceDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly issuer: string;
  /** Whether the owner of a resource must prove the host of its identifier. */
  readonly resourceIdentifiers: IdentifierMode;
  /** Asks the host of an identifier for its proof. */
  readonly outbound: Outbound;
  readonly requirePermission: RequirePermission;
  /** Locks the organization until the transaction ends, so that concurrent requests cannot exceed its limit of resources. */
  lockOrganization(tx: Tx, organizationId: string): Promise<object | undefined>;
  /** Undefined when there is no such organization. */
  organizationOf(db: Queryable, organizationId: string): Promise<{ status: string } | undefined>;
  /** The agent, if the caller may see it; AGENT_NOT_FOUND otherwise. */
  agentFor(caller: Caller, agentId: string): Promise<GrantedAgent>;
  /** The agent for a change of its grants, locked until the transaction ends; refuses as above. */
  lockAgent(tx: Tx, caller: Caller, agentId: string): Promise<GrantedAgent>;
  /** The caller's role in its own organization. */
  roleOf(caller: Caller, within: Queryable): Promise<Role>;
  readonly mayGrant: MayGrant;
  readonly findPolicyPower: FindPolicyPower;
  /** Records that the policies do not let the caller grant. */
  recordRefusal(caller: Caller, action: 'resources:grant'): Promise<void>;
}

export interface Resources {
  readonly routes: readonly RouteEntry[];
  readonly access: ResourceAccess;
  /** The grants of an agent, newest first. */
  listGrants(agentId: string, limit: number): Promise<Grant[]>;
}

export function createResources(deps: ResourceDeps): Resources {
  const refuseGranting = createGrantingRule(deps);
  const revokeGrants = createRevocation(refuseGranting);
  const recordingRefusals = createRefusalRecorder(deps);
  return {
    routes: [
      ...resourceRoutes(
        recordingRefusals(createResourceService(deps, refuseGranting, revokeGrants)),
        createVerificationService(deps),
        recordingRefusals(createGrantService(deps, refuseGranting, revokeGrants)),
      ),
      ...shareRoutes(
        recordingRefusals(createShareService(deps, revokeGrants)),
        recordingRefusals(createReceivedShareService(deps, revokeGrants)),
      ),
    ],
    access: {
      findGrant: findAgentGrant,
      findGrants: findAgentGrants,
      async refuseGrantsBeyond(tx, caller, { agentId, organizationId }) {
        if (mayGrantAll(caller) || agentId === caller.agentId) return;
        const grants = await compareGrants(tx, agentId, caller.agentId);
        if (grants.length > 0) await refuseGranting(tx, caller, organizationId, grants);
      },
      async refuseClaimChange(tx, caller, { agentId, organizationId }, fields) {
        const changed = resourceClaims.filter((claim) => fields.includes(claim));
        const grants = changed.length === 0 ? [] : await findGrantsCarrying(tx, agentId, changed);
        if (grants.length === 0) return;
        await refuseOwnAgent(tx, caller, agentId);
        if (!mayGrantAll(caller)) await refuseGranting(tx, caller, organizationId, grants);
      },
    },
    listGrants: (agentId, limit) => listUsableGrants(deps.db, agentId, limit),
  };
}
