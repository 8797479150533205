/** Event types. Webhook subscribers choose among the spec's ten and those of resources and grants; the audit log records all of these. */

export const webhookEvents = [
  'agent.created',
  'agent.updated',
  'agent.suspended',
  'agent.reactivated',
  'agent.decommissioned',
  'credential.generated',
  'credential.rotated',
  'credential.revoked',
  'token.issued',
  'token.revoked',
  'resource.created',
  'resource.updated',
  'resource.deleted',
  'resource.shared',
  'resource.unshared',
  'grant.changed',
  'grant.removed',
] as const;

/** Recorded in the audit log only: they do not concern the life cycle of an agent. */
export const auditOnlyEvents = [
  'organization.created',
  'organization.updated',
  'organization.suspended',
  'organization.reactivated',
  'organization.deleted',
  'member.added',
  'member.updated',
  'member.removed',
  'person.invited',
  'person.updated',
  'person.removed',
  'person.declined',
  'token.refused',
  'authentication.refused',
  'policy.refused',
  'session.code_created',
  'session.created',
  'session.refused',
  'session.ended',
  'refusals.suppressed',
  'partner.added',
  'partner.updated',
  'partner.removed',
  'trust_policy.created',
  'trust_policy.updated',
  'trust_policy.deleted',
  'id_token.issued',
  'billing.checkout_started',
  'billing.portal_opened',
  'billing.subscription_updated',
  'billing.cancellation_requested',
  'delegation.created',
  'delegation.revoked',
  'listing.created',
  'listing.updated',
  'listing.published',
  'listing.withdrawn',
  'listing.suspended',
  'listing.reinstated',
  'listing.deleted',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'webhook.secret_rotated',
  'webhook.tested',
  'webhook.replayed',
  'encryption_key.rotation_started',
  'encryption_key.rotation_ended',
] as const;

/** Sent to a subscription on request, as a test. It is no domain event. */
export const testEvent = 'webhook.test';

export type WebhookEvent = (typeof webhookEvents)[number];
export type EventType = WebhookEvent | (typeof auditOnlyEvents)[number];

const ofAgent = ['agentType', 'status', 'owner', 'version', 'deploymentEnv'];
const ofCredential = ['credentialId', 'credentialType', 'scopes', 'expiresAt'];
const ofToken = ['tokenId', 'scope', 'audience', 'expiresAt'];
const ofResource = ['resourceId', 'identifier', 'name', 'scopes', 'tokenLifetimeSeconds'];
const ofGrant = ['resourceId', 'identifier', 'organizationId', 'scopes'];

/** The fields of an event that subscribers get. The type requires a row for each event. */
export const webhookEventFields: Readonly<Record<WebhookEvent, readonly string[]>> = {
  'agent.created': ofAgent,
  'agent.updated': ofAgent,
  'agent.suspended': ofAgent,
  'agent.reactivated': ofAgent,
  'agent.decommissioned': ofAgent,
  'credential.generated': ofCredential,
  'credential.rotated': ofCredential,
  'credential.revoked': ofCredential,
  'token.issued': ofToken,
  'token.revoked': ofToken,
  'resource.created': ofResource,
  'resource.updated': ofResource,
  'resource.deleted': ofResource,
  'resource.shared': ofGrant,
  'resource.unshared': ofGrant,
  'grant.changed': ofGrant,
  'grant.removed': ofGrant,
};
