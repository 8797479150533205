/** Event types. Webhook subscribers choose among the spec's ten and our additions; the audit log records all changes and refusals. */

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
  'share.offered',
  'share.accepted',
  'share.declined',
  'delegation.created',
  'delegation.revoked',
  'trust_policy.created',
  'trust_policy.updated',
  'trust_policy.deleted',
  'member.added',
  'member.changed',
  'member.removed',
  'person.created',
  'person.changed',
  'person.removed',
  'person.suspended',
  'person.activated',
  'connection.created',
  'connection.updated',
  'connection.deleted',
  'client.registered',
  'consent.granted',
  'consent.denied',
  'consent.revoked',
  'approval.requested',
  'approval.approved',
  'approval.denied',
  'approval.expired',
  'approval.canceled',
  'session.created',
  'session.ended',
  'session.refused',
  'token.refused',
  'policy.refused',
] as const;

/** The audit log keeps the names that it has used from the start; subscribers get these events under the names on the right. */
const renamedEvents = {
  'member.updated': 'member.changed',
  'person.invited': 'person.created',
  'person.updated': 'person.changed',
} as const satisfies Record<string, WebhookEvent>;

/** Refusals. Anyone can cause them, so each is sent at most `limits.refusalEventsPerMinute` times per organization and minute. */
export const refusalEvents = ['session.refused', 'token.refused', 'policy.refused'] as const;
export type RefusalEvent = (typeof refusalEvents)[number];

const refusalNames: ReadonlySet<string> = new Set(refusalEvents);
export const isRefusalEvent = (type: string): type is RefusalEvent => refusalNames.has(type);

/** Audit actions without a webhook event of the same name. */
export const auditOnlyEvents = [
  'organization.created',
  'organization.updated',
  'organization.suspended',
  'organization.reactivated',
  'organization.deleted',
  'member.updated',
  'person.invited',
  'person.updated',
  'person.declined',
  'client_policy.updated',
  'approval_policy.updated',
  // One of the two people who have to approve has approved.
  'approval.supported',
  'authentication.refused',
  'session.code_created',
  'refusals.suppressed',
  'partner.added',
  'partner.updated',
  'partner.removed',
  'id_token.issued',
  'billing.checkout_started',
  'billing.portal_opened',
  'billing.subscription_updated',
  'billing.cancellation_requested',
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
  'signal_stream.created',
  'signal_stream.updated',
  'signal_stream.deleted',
] as const;

/** They record a creation whose route reads `Idempotency-Key`. */
export const idempotentEvents = [
  'organization.created',
  'agent.created',
  'credential.generated',
  'delegation.created',
  'resource.created',
  'webhook.created',
  'connection.created',
] as const satisfies EventType[];

/** Sent to a subscription on request, as a test. It is no domain event. */
export const testEvent = 'webhook.test';

export type WebhookEvent = (typeof webhookEvents)[number];
/** Names that the audit log does not use itself. `person.created` is both: the log's name for people who were not invited. */
type RenamedEvent = Exclude<(typeof renamedEvents)[keyof typeof renamedEvents], 'person.created'>;
export type EventType = Exclude<WebhookEvent, RenamedEvent> | (typeof auditOnlyEvents)[number];

const renamed: ReadonlySet<string> = new Set<RenamedEvent>(['member.changed', 'person.changed']);
/** All actions of the audit log. */
export const auditEvents: readonly EventType[] = [
  ...webhookEvents.filter((type): type is Exclude<WebhookEvent, RenamedEvent> => !renamed.has(type)),
  ...auditOnlyEvents,
];

/** The event that subscribers get for an audit action, if any. */
export const webhookEventOf = (action: string): WebhookEvent | undefined => {
  if (Object.hasOwn(renamedEvents, action)) return renamedEvents[action as keyof typeof renamedEvents];
  return Object.hasOwn(webhookEventFields, action) && !renamed.has(action)
    ? (action as WebhookEvent)
    : undefined;
};

const ofAgent = ['agentType', 'status', 'owner', 'version', 'deploymentEnv'];
const ofCredential = ['credentialId', 'credentialType', 'scopes', 'expiresAt'];
const ofToken = ['tokenId', 'scope', 'audience', 'expiresAt'];
const ofResource = ['resourceId', 'identifier', 'name', 'scopes', 'tokenLifetimeSeconds'];
const ofShare = [
  ...['resourceId', 'identifier', 'ownerId', 'organizationId'],
  ...['scopes', 'offeredScopes', 'status'],
];
const ofDelegation = [
  ...['chainId', 'parentChainId', 'rootChainId', 'subjectId', 'delegatorId', 'delegateeId'],
  ...['subjectType', 'delegatorType', 'scopes', 'resource', 'expiresAt'],
];
const ofTrustPolicy = ['policyId', 'name', 'provider', 'issuer', 'subject', 'scopes', 'status', 'changed'];
const ofMember = ['memberId', 'role', 'previousRole'];
/** Without names and subjects: a receiver needs no personal data to react. */
const ofPerson = ['personId', 'role', 'status', 'connectionId', 'changed'];
const ofConnection = ['connectionId', 'name', 'issuer', 'status', 'changed'];
const ofClient = ['clientUri', 'host', 'status'];
const ofConsent = [
  ...['personId', 'chainId', 'resource', 'scopes', 'authorizationDetails'],
  ...['origin', 'expiresAt', 'reason'],
];
const ofApproval = [
  ...[
    'approvalId',
    'resource',
    'scopes',
    'authorizationDetails',
    'bindingMessage',
    'requestedFor',
    'personId',
  ],
  ...['accessExpiresIn', 'status', 'decidedBy', 'chainId', 'expiresAt', 'url', 'reason'],
];
const ofSession = ['sessionId', 'method', 'scopes', 'expiresAt', 'reason'];
const ofRefusal = ['reason', 'method', 'operation', 'action', 'policyId', 'audience'];
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
  'share.offered': ofShare,
  'share.accepted': ofShare,
  'share.declined': ofShare,
  'delegation.created': ofDelegation,
  'delegation.revoked': ofDelegation,
  'trust_policy.created': ofTrustPolicy,
  'trust_policy.updated': ofTrustPolicy,
  'trust_policy.deleted': ofTrustPolicy,
  'member.added': ofMember,
  'member.changed': ofMember,
  'member.removed': ofMember,
  'person.created': ofPerson,
  'person.changed': ofPerson,
  'person.removed': ofPerson,
  'person.suspended': ofPerson,
  'person.activated': ofPerson,
  'connection.created': ofConnection,
  'connection.updated': ofConnection,
  'connection.deleted': ofConnection,
  'client.registered': ofClient,
  'consent.granted': ofConsent,
  'consent.denied': ofConsent,
  'consent.revoked': ofConsent,
  'approval.requested': ofApproval,
  'approval.approved': ofApproval,
  'approval.denied': ofApproval,
  'approval.expired': ofApproval,
  'approval.canceled': ofApproval,
  'session.created': ofSession,
  'session.ended': ofSession,
  'session.refused': ofRefusal,
  'token.refused': ofRefusal,
  'policy.refused': ofRefusal,
};
