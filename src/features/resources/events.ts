/** The events of resources, shares and grants. */
import type { EventType } from '../../contract/events.ts';
import type { Actor, Caller } from '../../kernel/caller.ts';
import type { LedgerEntry } from '../../kernel/domain-event.ts';
import { nilUuid } from '../../kernel/ids.ts';
import type { StoredGrant } from './grants-store.ts';
import type { Resource, Share } from './schema.ts';

/** The event of the owner that changed a share or a grant. */
export type Reason = Extract<
  EventType,
  'resource.updated' | 'resource.deleted' | 'resource.shared' | 'resource.unshared'
>;

/** In the log of an organization that uses another's resource: it learns of the change, not which agent made it and from which address. */
const owner: Actor = { requestId: 'shared-resource', ipAddress: '127.0.0.1', userAgent: 'countersign' };

/** The caller itself in the logs of its own organization and of the organization that owns the resource. */
const actorFor = (caller: Caller, resource: Resource, organizationId: string): Actor =>
  [caller.organizationId, resource.organizationId].includes(organizationId) ? caller : owner;

export function resourceEvent(
  caller: Caller,
  type: 'resource.created' | 'resource.updated' | 'resource.deleted',
  resource: Resource,
  more: Record<string, unknown> = {},
): LedgerEntry {
  const { organizationId, resourceId, identifier, name, tokenLifetimeSeconds, claims } = resource;
  const scopes = resource.scopes.map((scope) => scope.name);
  return {
    actor: caller,
    type,
    subject: {
      organizationId,
      agentId: caller.agentId,
      metadata: { resourceId, identifier, name, scopes, tokenLifetimeSeconds, claims, ...more },
    },
  };
}

/** One for the organization that owns the resource, and one for the organization that it is shared with. */
export function shareEvents(
  caller: Caller,
  type: 'resource.shared' | 'resource.unshared',
  resource: Resource,
  { organizationId, scopes }: Share,
  reason?: Reason,
): LedgerEntry[] {
  const { resourceId, identifier } = resource;
  const metadata = {
    resourceId,
    identifier,
    organizationId,
    ownerId: resource.organizationId,
    scopes,
    ...(reason && { reason }),
  };
  return [resource.organizationId, organizationId].map((log) => {
    const actor = actorFor(caller, resource, log);
    return {
      actor,
      type,
      subject: { organizationId: log, agentId: actor.agentId ?? nilUuid, metadata },
    };
  });
}

/** `grant`: as it is now, or as it was before its removal. */
export function grantEvent(
  caller: Caller,
  type: 'grant.changed' | 'grant.removed',
  resource: Resource,
  { agentId, organizationId, held }: StoredGrant,
  reason?: Reason,
): LedgerEntry {
  const { resourceId, identifier } = resource;
  return {
    // The caller of a grant's own routes is of the agent's organization, or an operator.
    actor: reason ? actorFor(caller, resource, organizationId) : caller,
    type,
    subject: {
      organizationId,
      agentId,
      metadata: {
        agentId,
        resourceId,
        identifier,
        scopes: Object.keys(held),
        ...(reason && { reason }),
      },
    },
  };
}
