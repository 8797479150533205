/** Generated from the route table by `npm run openapi`; do not edit. */

export * from '../../../sdk/typescript/src/generated.ts';

/** The types of the events that GET /events sends. */
export const eventTypes = [
  "agent.created",
  "agent.updated",
  "agent.suspended",
  "agent.reactivated",
  "agent.decommissioned",
  "credential.generated",
  "credential.rotated",
  "credential.revoked",
  "token.issued",
  "token.revoked",
  "resource.created",
  "resource.updated",
  "resource.deleted",
  "resource.shared",
  "resource.unshared",
  "grant.changed",
  "grant.removed",
  "share.offered",
  "share.accepted",
  "share.declined",
  "delegation.created",
  "delegation.revoked",
  "trust_policy.created",
  "trust_policy.updated",
  "trust_policy.deleted",
  "member.added",
  "member.removed",
  "person.created",
  "person.removed",
  "person.suspended",
  "person.activated",
  "connection.created",
  "connection.updated",
  "connection.deleted",
  "client.registered",
  "consent.granted",
  "consent.denied",
  "consent.revoked",
  "approval.requested",
  "approval.approved",
  "approval.denied",
  "approval.expired",
  "approval.canceled",
  "session.created",
  "session.ended",
  "session.refused",
  "token.refused",
  "policy.refused",
  "organization.created",
  "organization.updated",
  "organization.suspended",
  "organization.reactivated",
  "organization.deleted",
  "member.updated",
  "person.invited",
  "person.updated",
  "person.declined",
  "client_policy.updated",
  "approval_policy.updated",
  "approval.supported",
  "authentication.refused",
  "session.code_created",
  "refusals.suppressed",
  "partner.added",
  "partner.updated",
  "partner.removed",
  "id_token.issued",
  "billing.checkout_started",
  "billing.portal_opened",
  "billing.subscription_updated",
  "billing.cancellation_requested",
  "listing.created",
  "listing.updated",
  "listing.published",
  "listing.withdrawn",
  "listing.suspended",
  "listing.reinstated",
  "listing.deleted",
  "webhook.created",
  "webhook.updated",
  "webhook.deleted",
  "webhook.secret_rotated",
  "webhook.tested",
  "webhook.replayed",
  "encryption_key.rotation_started",
  "encryption_key.rotation_ended",
  "signal_stream.created",
  "signal_stream.updated",
  "signal_stream.deleted"
] as const;

export type EventType = (typeof eventTypes)[number];

/** The events that webhooks can receive. */
export const webhookEventTypes = [
  "agent.created",
  "agent.updated",
  "agent.suspended",
  "agent.reactivated",
  "agent.decommissioned",
  "credential.generated",
  "credential.rotated",
  "credential.revoked",
  "token.issued",
  "token.revoked",
  "resource.created",
  "resource.updated",
  "resource.deleted",
  "resource.shared",
  "resource.unshared",
  "grant.changed",
  "grant.removed",
  "share.offered",
  "share.accepted",
  "share.declined",
  "delegation.created",
  "delegation.revoked",
  "trust_policy.created",
  "trust_policy.updated",
  "trust_policy.deleted",
  "member.added",
  "member.changed",
  "member.removed",
  "person.created",
  "person.changed",
  "person.removed",
  "person.suspended",
  "person.activated",
  "connection.created",
  "connection.updated",
  "connection.deleted",
  "client.registered",
  "consent.granted",
  "consent.denied",
  "consent.revoked",
  "approval.requested",
  "approval.approved",
  "approval.denied",
  "approval.expired",
  "approval.canceled",
  "session.created",
  "session.ended",
  "session.refused",
  "token.refused",
  "policy.refused"
] as const;

/** The scopes of the API with their meaning. */
export const scopeDescriptions = {
  "agents:read": "Read agents, their keys, credentials and listings.",
  "agents:write": "Register, change and decommission agents, and manage their credentials and trust policies.",
  "tokens:read": "Ask whether a token is active.",
  "audit:read": "Read and verify the audit log.",
  "webhooks:read": "Read webhook subscriptions and their deliveries.",
  "webhooks:write": "Create, change and delete webhook subscriptions.",
  "resources:read": "Read the registered APIs of the organization.",
  "resources:write": "Register APIs, share them, and grant their scopes.",
  "admin:orgs": "Operate the instance: all organizations, and every scope."
} as const;

export type Scope = keyof typeof scopeDescriptions;

export const planTiers = ["free","pro","enterprise"] as const;

export type PlanTier = (typeof planTiers)[number];

/** Stands for no limit. */
export const unlimited = 2147483647;

/** The limits of each plan. */
export const plans = {
  "free": {
    "maxAgents": 25,
    "maxCallsPerDay": 1000,
    "maxTokensPerDay": 1000,
    "maxTokensPerMonthPerClient": 10000
  },
  "pro": {
    "maxAgents": 1000,
    "maxCallsPerDay": 100000,
    "maxTokensPerDay": 100000,
    "maxTokensPerMonthPerClient": 1000000
  },
  "enterprise": {
    "maxAgents": 2147483647,
    "maxCallsPerDay": 2147483647,
    "maxTokensPerDay": 2147483647,
    "maxTokensPerMonthPerClient": 2147483647
  }
} as const;

/** A session ends after this time without a request. */
export const sessionIdleSeconds = 1800;
