/** Grants: which scopes of a resource an agent may hold. Lock order: the resource (shared), then the agent. */

import { type Caller, tenantOf } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { lockShared } from '../../kernel/data/locks.ts';
import { fail } from '../../kernel/fail.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { findOwnScopes } from './access-store.ts';
import { grantEvent } from './events.ts';
import type { ResourceDeps } from './feature.ts';
import type { RefuseGranting, RevokeGrants } from './granting-rule.ts';
import {
  findGrant,
  laterTime,
  listAgentGrants,
  listResourceGrants,
  type StoredGrant,
  upsertGrant,
} from './grants-store.ts';
import type { AgentGrantQuery, Grant, GrantQuery, Resource, ScopeNames } from './schema.ts';
import { findGrantedResource, findResource } from './store.ts';
import { requireScopes, requireVisible, usableScopes } from './visibility.ts';

interface GrantPath {
  readonly agentId: string;
  readonly resourceId: string;
}

export interface GrantService {
  listOfAgent(caller: Caller, agentId: string, query: AgentGrantQuery): Promise<Page<Grant>>;
  /** Of agents of the caller's own organization. */
  listOfResource(caller: Caller, resourceId: string, query: GrantQuery): Promise<Page<Grant>>;
  put(caller: Caller, path: GrantPath, wanted: ScopeNames): Promise<Grant>;
  remove(caller: Caller, path: GrantPath): Promise<void>;
}

export function createGrantService(
  deps: ResourceDeps,
  refuseGranting: RefuseGranting,
  revokeGrants: RevokeGrants,
): GrantService {
  const { db, clock, ledger, agentFor, lockAgent, refuseLastingPower } = deps;

  /** The resource as the agent's organization sees it: an operator cannot grant what is neither owned nor shared. */
  const lockForGrant = async (
    tx: Tx,
    caller: Caller,
    { agentId, resourceId }: GrantPath,
    find = findResource,
  ) => {
    // Read first: a caller cannot lock resources that it may not see.
    const visible = await find(tx, tenantOf(caller), resourceId);
    if (visible) await lockShared(tx, 'resource', [visible.resourceId]);
    const agent = await lockAgent(tx, caller, agentId);
    const resource = visible && (await find(tx, agent.organizationId, resourceId));
    return { agent, resource: resource ?? fail('RESOURCE_NOT_FOUND') };
  };

  return {
    async listOfAgent(caller, agentId, query) {
      const agent = await agentFor(caller, agentId);
      const { rows, total } = await listAgentGrants(db, agent.agentId, query);
      return pageOf(query, rows, total);
    },

    async listOfResource(caller, resourceId, query) {
      const resource = await requireVisible(db, caller, resourceId);
      const { rows, total } = await listResourceGrants(db, tenantOf(caller), resource.resourceId, query);
      return pageOf(query, rows, total);
    },

    put: (caller, path, wanted) =>
      db.transaction(async (tx) => {
        const { agent, resource } = await lockForGrant(tx, caller, path);
        if (agent.status === 'decommissioned') fail('AGENT_DECOMMISSIONED');
        const { agentId, organizationId } = agent;
        const { resourceId, identifier, organizationId: ownerId, claims } = resource;
        const of =
          resource.sharedScopes === null ? 'API' : "API that is shared with the agent's organization";
        const scopes = requireScopes(wanted.scopes, usableScopes(resource), of);
        await refuseLastingPower(tx, caller, agentId);
        const before = await findGrant(tx, agentId, resourceId);
        const lost = Object.keys(before?.held ?? {}).filter((name) => !scopes.includes(name));
        const ownScopes = await findOwnScopes(tx, caller.agentId, { agentId, resourceId });
        await refuseGranting(tx, caller, organizationId, [
          { identifier, ownerId, scopes: [...scopes, ...lost], ownScopes, claims },
        ]);
        if (before && isSameSet(Object.keys(before.held), scopes)) return toGrant(resource, before, scopes);
        const now = await laterTime(tx, isoTime(clock));
        const earlier = new Map(Object.entries(before?.held ?? {}));
        const grant: StoredGrant = {
          agentId,
          resourceId,
          organizationId,
          held: Object.fromEntries(scopes.map((name) => [name, earlier.get(name) ?? now])),
          grantedBy: caller.agentId,
          createdAt: before?.createdAt ?? now,
          updatedAt: now,
        };
        await upsertGrant(tx, grant);
        await ledger.recordAll(tx, [
          grantEvent(
            caller,
            'grant.changed',
            resource,
            lost.length > 0 ? { ...grant, narrowed: true } : grant,
          ),
        ]);
        return toGrant(resource, grant, scopes);
      }),

    remove: (caller, path) =>
      db.transaction(async (tx) => {
        const { agent, resource } = await lockForGrant(tx, caller, path, findGrantedResource);
        const { agentId } = agent;
        await refuseLastingPower(tx, caller, agentId);
        const ownScopes = await findOwnScopes(tx, caller.agentId, {
          agentId,
          resourceId: resource.resourceId,
        });
        const {
          removed: [grant],
        } = await revokeGrants(tx, caller, resource, { agentId, ownScopes });
        if (!grant) fail('GRANT_NOT_FOUND');
        await ledger.recordAll(tx, [grantEvent(caller, 'grant.removed', resource, grant)]);
      }),
  };
}

const isSameSet = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((name) => others.includes(name));

const toGrant = (
  { identifier }: Resource,
  { agentId, resourceId, grantedBy, createdAt, updatedAt }: StoredGrant,
  scopes: string[],
): Grant => ({ agentId, resourceId, identifier, scopes, grantedBy, createdAt, updatedAt });
