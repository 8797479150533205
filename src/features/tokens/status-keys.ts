/** The keys of the cached parts of a token's status, and the events that invalidate them. */
import type { EventType } from '../../contract/events.ts';
import { isLoopback } from '../../kernel/audience.ts';
import type { DomainEvent } from '../../kernel/domain-event.ts';

/**
 * The number changes with the shape of the values: nodes of two versions may share a store. A new field needs no new number, if entries
 * without it count as missing: then the versions see each other's invalidations.
 */
export const tokenKey = (tokenId: string) => `standing:4:token:${tokenId}`;
export const agentKey = (agentId: string) => `standing:4:agent:${agentId}`;
export const organizationKey = (organizationId: string) => `standing:4:organization:${organizationId}`;
export const credentialKey = (credentialId: string) => `standing:4:credential:${credentialId}`;
export const chainKey = (chainId: string) => `standing:4:chain:${chainId}`;
export const resourceKey = (identifier: string) => `standing:4:resource:${identifier}`;
export const localResourceKey = (ownerId: string, identifier: string) =>
  `standing:4:resource:${ownerId}:${identifier}`;
/** All keys of a resource of this organization. */
const resourceKeys = (organizationId: string, identifier: string) =>
  isLoopback(identifier)
    ? [resourceKey(identifier), localResourceKey(organizationId, identifier)]
    : [resourceKey(identifier)];
export const grantKey = (ownerId: string, identifier: string) => `standing:5:grant:${ownerId}:${identifier}`;
/** The key of nodes of the previous version. */
const previousGrantKey = (ownerId: string, identifier: string) => `standing:4:grant:${ownerId}:${identifier}`;

/** The status that an event may change. A table of all events: a new event does not compile without a row here. */
const invalidations: Readonly<
  Record<
    EventType,
    'agent' | 'organization' | 'credential' | 'token' | 'chain' | 'resource' | 'grant' | 'none'
  >
> = {
  'agent.created': 'none',
  'agent.updated': 'agent',
  'agent.suspended': 'agent',
  'agent.reactivated': 'agent',
  'agent.decommissioned': 'agent',
  'credential.generated': 'none',
  // Tokens stay valid; a client that authenticates with the old secret is refused.
  'credential.rotated': 'credential',
  'credential.revoked': 'credential',
  'token.issued': 'none',
  'token.revoked': 'token',
  'token.refused': 'none',
  'authentication.refused': 'none',
  'organization.created': 'none',
  'organization.updated': 'organization',
  'organization.suspended': 'organization',
  'organization.reactivated': 'organization',
  'organization.deleted': 'organization',
  'member.added': 'none',
  'member.updated': 'none',
  'member.removed': 'none',
  'person.invited': 'none',
  'person.updated': 'none',
  'person.removed': 'none',
  'person.declined': 'none',
  // The status of a token whose subject is a person is not cached.
  'person.created': 'none',
  'person.suspended': 'none',
  'person.activated': 'none',
  'connection.created': 'none',
  'connection.updated': 'none',
  'connection.deleted': 'none',
  'client_policy.updated': 'none',
  'client.registered': 'none',
  'consent.granted': 'none',
  'consent.denied': 'none',
  'consent.revoked': 'chain',
  'approval.requested': 'none',
  'approval.supported': 'none',
  'approval.approved': 'none',
  'approval.denied': 'none',
  'approval.expired': 'none',
  'approval.canceled': 'none',
  'approval_policy.updated': 'none',
  'policy.refused': 'none',
  'session.code_created': 'none',
  'session.created': 'none',
  'session.refused': 'none',
  'session.ended': 'none',
  'refusals.suppressed': 'none',
  'partner.added': 'none',
  'partner.updated': 'none',
  'partner.removed': 'none',
  'trust_policy.created': 'none',
  'trust_policy.updated': 'none',
  'trust_policy.deleted': 'none',
  'id_token.issued': 'none',
  'billing.checkout_started': 'none',
  'billing.portal_opened': 'none',
  'billing.subscription_updated': 'none',
  'billing.cancellation_requested': 'none',
  'delegation.created': 'none',
  // The key of its own link only: the status of a token below includes all links above it.
  'delegation.revoked': 'chain',
  'listing.created': 'none',
  'listing.updated': 'none',
  'listing.published': 'none',
  'listing.withdrawn': 'none',
  'listing.suspended': 'none',
  'listing.reinstated': 'none',
  'listing.deleted': 'none',
  'webhook.created': 'none',
  'webhook.updated': 'none',
  'webhook.deleted': 'none',
  'webhook.secret_rotated': 'none',
  'webhook.tested': 'none',
  'webhook.replayed': 'none',
  'encryption_key.rotation_started': 'none',
  'encryption_key.rotation_ended': 'none',
  'signal_stream.created': 'none',
  'signal_stream.updated': 'none',
  'signal_stream.deleted': 'none',
  'resource.created': 'resource',
  'resource.updated': 'resource',
  'resource.deleted': 'resource',
  // Each grant that loses scopes with its share or resource has an event of its own.
  'resource.shared': 'none',
  'resource.unshared': 'none',
  'share.offered': 'none',
  'share.accepted': 'none',
  'share.declined': 'none',
  'grant.changed': 'grant',
  'grant.removed': 'grant',
};

export const invalidatingTypes = (Object.keys(invalidations) as EventType[]).filter(
  (type) => invalidations[type] !== 'none',
);

export function invalidatedKeys({ type, agentId, organizationId, metadata }: DomainEvent): string[] {
  switch (invalidations[type]) {
    case 'agent':
      return [agentKey(agentId)];
    case 'organization':
      return [organizationKey(organizationId)];
    case 'credential':
      return [credentialKey(String(metadata.credentialId))];
    case 'token':
      return [tokenKey(String(metadata.tokenId))];
    case 'chain':
      return [chainKey(String(metadata.chainId))];
    case 'resource':
      return resourceKeys(organizationId, String(metadata.identifier));
    case 'grant':
      return [grantKey, previousGrantKey].map((key) => key(agentId, String(metadata.identifier)));
    case 'none':
      return [];
  }
}
