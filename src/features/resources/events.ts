/** The events of resources, shares and grants. */
import type { EventType } from '../../contract/events.ts';
import { type Actor, type Caller, isOperator } from '../../kernel/caller.ts';
import type { LedgerEntry } from '../../kernel/domain-event.ts';
import { nilUuid } from '../../kernel/ids.ts';
import type { StoredGrant } from './grants-store.ts';
import type { Resource } from './schema.ts';
import type { Share } from './shares/share-schema.ts';

/** The event of the owner, or of the receiver of a share, that changed a share or a grant. */
export type Reason = Extract<
  EventType,
  | 'resource.updated'
  | 'resource.deleted'
  | 'resource.shared'
  | 'resource.unshared'
  | 'share.accepted'
  | 'share.declined'
>;

/** In the log of the other organization of a share: it learns of the change, not which agent made it and from which address. */
const otherOrganization: Actor = {
  requestId: 'shared-resource',
  ipAddress: '127.0.0.1',
  userAgent: 'countersign',
};

/** The caller itself in the log of its own organization; an operator also in that of the organization that owns the resource. */
const actorFor = (caller: Caller, resource: Resource, organizationId: string): Actor =>
  organizationId === caller.organizationId ||
  (isOperator(caller) && organizationId === resource.organizationId)
    ? caller
    : otherOrganization;

export function resourceEvent(
  caller: Caller,
  type: 'resource.created' | 'resource.updated' | 'resource.deleted',
  resource: Resource,
  more: Record<string, unknown> = {},
): LedgerEntry {
  const { organizationId, resourceId, identifier, name, tokenLifetimeSeconds, claims } = resource;
  const { peopleScopes, approvers } = resource;
  const scopes = resource.scopes.map((scope) => scope.name);
  const authorizationDetailTypes = resource.authorizationDetailTypes.map(({ type }) => type);
  return {
    actor: caller,
    type,
    subject: {
      organizationId,
      agentId: caller.agentId,
      metadata: {
        resourceId,
        identifier,
        name,
        scopes,
        tokenLifetimeSeconds,
        claims,
        peopleScopes,
        approvers,
        authorizationDetailTypes,
        ...more,
      },
    },
  };
}

type ShareEvent =
  | 'resource.shared'
  | 'resource.unshared'
  | 'share.offered'
  | 'share.accepted'
  | 'share.declined';

/** The scopes in force, and for an offer those that wait. */
type SharedScopes = Pick<Share, 'organizationId' | 'scopes'> & { readonly offeredScopes?: readonly string[] };

/** One for the organization that owns the resource, and one for the organization that it is shared with. */
export const shareEvents = (
  caller: Caller,
  type: ShareEvent,
  resource: Resource,
  share: SharedScopes,
  reason?: Reason,
): LedgerEntry[] =>
  [resource.organizationId, share.organizationId].map((log) =>
    shareEvent(caller, type, resource, share, log, reason),
  );

/** For one of the two. */
export function shareEvent(
  caller: Caller,
  type: ShareEvent,
  resource: Resource,
  { organizationId, scopes, offeredScopes }: SharedScopes,
  log: string,
  reason?: Reason,
): LedgerEntry {
  const { resourceId, identifier } = resource;
  const actor = actorFor(caller, resource, log);
  const metadata = {
    resourceId,
    identifier,
    organizationId,
    ownerId: resource.organizationId,
    scopes,
    ...(offeredScopes && { offeredScopes }),
    // The receiver of an offer must see that the owner has not proven the host.
    ...(type === 'share.offered' && { verified: resource.verification.status === 'verified' }),
    ...(reason && { reason }),
  };
  return { actor, type, subject: { organizationId: log, agentId: actor.agentId ?? nilUuid, metadata } };
}

/** A grant that has lost some of its scopes. */
export interface NarrowedGrant extends StoredGrant {
  readonly narrowed: true;
}

/** `grant`: as it is now, or as it was before its removal. */
export function grantEvent(
  caller: Caller,
  type: 'grant.changed' | 'grant.removed',
  resource: Resource,
  { agentId, organizationId, held, ...rest }: StoredGrant | NarrowedGrant,
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
        ...('narrowed' in rest && { narrowed: true }),
        ...(reason && { reason }),
      },
    },
  };
}
