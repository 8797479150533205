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
  'token.refused',
  'authentication.refused',
  'policy.refused',
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
] as const;

/** Sent to a subscription on request, as a test. It is no domain event. */
export const testEvent = 'webhook.test';

export type WebhookEvent = (typeof webhookEvents)[number];
export type EventType = WebhookEvent | (typeof auditOnlyEvents)[number];
