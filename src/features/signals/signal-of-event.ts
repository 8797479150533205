/**
 * The signal of a domain event: its type, its subject and its claims, for the organization of the event. listener.ts adds the other
 * organizations, and the signals about people who may lend less.
 */
import type { EventType } from '../../contract/events.ts';
import type { DomainEvent } from '../../kernel/domain-event.ts';
import type { Lending } from '../resources/lending-store.ts';
import {
  atResource,
  credentialChange,
  opaque,
  party,
  partyAtResource,
  type SubjectId,
  sessionRevoked,
  tokenClaimsChange,
  tokenId,
} from './event-types.ts';

/** The part of the world that ended. */
export type Ended =
  | { readonly kind: 'agent' | 'person' | 'organization' | 'credential'; readonly id: string }
  /** Only its tokens for these audiences. */
  | { readonly kind: 'agent' | 'chain'; readonly id: string; readonly audiences: readonly string[] }
  | { readonly kind: 'token'; readonly audiences: readonly string[] }
  /** Only the owner learns of it. */
  | { readonly kind: 'own' };

export interface Signal {
  readonly eventType: string;
  readonly subject: SubjectId;
  /** The claims of the event, without its time. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly ended: Ended;
}

type Reading = Pick<DomainEvent, 'organizationId' | 'agentId' | 'data'>;
type ReadSignal = (event: Reading, issuer: string) => Signal;
type Row = readonly [reason: string, read: ReadSignal, onlyIf?: (event: Reading) => boolean];

const textOf = (value: unknown): string => String(value);
const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
const changedIn = ({ data }: Pick<DomainEvent, 'data'>): string[] => listOf(data.changed);

const revoked =
  (subject: (event: Reading, issuer: string) => SubjectId, ended: (event: Reading) => Ended): ReadSignal =>
  (event, issuer) => ({
    eventType: sessionRevoked,
    subject: subject(event, issuer),
    details: {},
    ended: ended(event),
  });
/**
 * What may be suspended never comes back after this. All its tokens have ended, so a receiver does not compare times: the clock of the node
 * that issued one may be ahead of the clock that gave the event its time. An addition to CAEP, which other receivers ignore.
 */
const forGood =
  (read: ReadSignal): ReadSignal =>
  (event, issuer) => {
    const signal = read(event, issuer);
    return { ...signal, details: { ...signal.details, permanent: true } };
  };

const agent = revoked(
  ({ agentId }, issuer) => party(issuer, agentId),
  ({ agentId }) => ({ kind: 'agent', id: agentId }),
);
const person = revoked(
  ({ data }, issuer) => party(issuer, textOf(data.personId)),
  ({ data }) => ({ kind: 'person', id: textOf(data.personId) }),
);
const organization = revoked(
  ({ organizationId }) => opaque(organizationId),
  ({ organizationId }) => ({ kind: 'organization', id: organizationId }),
);
const chain = revoked(
  ({ data }) => opaque(textOf(data.chainId)),
  ({ data }) => ({ kind: 'chain', id: textOf(data.chainId), audiences: listOf(data.resource) }),
);
const token = revoked(
  ({ data }, issuer) => tokenId(issuer, textOf(data.tokenId)),
  ({ data }) => ({ kind: 'token', audiences: listOf([data.audience]) }),
);
/** `update`: the secret was replaced, and tokens of the earlier secret stay valid. */
const credential =
  (changeType: 'revoke' | 'update'): ReadSignal =>
  ({ data }) => ({
    eventType: credentialChange,
    subject: opaque(textOf(data.credentialId)),
    details: { credential_type: textOf(data.credentialType ?? 'client_secret'), change_type: changeType },
    ended: { kind: 'credential', id: textOf(data.credentialId) },
  });
const grant =
  (remaining: (event: Reading) => readonly string[]): ReadSignal =>
  (event, issuer) => ({
    eventType: tokenClaimsChange,
    subject: partyAtResource(issuer, event.agentId, textOf(event.data.identifier)),
    details: { claims: { scope: remaining(event).join(' ') } },
    ended: { kind: 'agent', id: event.agentId, audiences: [textOf(event.data.identifier)] },
  });
const resource =
  (remaining: (event: Reading) => readonly string[]): ReadSignal =>
  (event) => ({
    eventType: tokenClaimsChange,
    subject: atResource(textOf(event.data.identifier)),
    details: { claims: { scope: remaining(event).join(' ') } },
    ended: { kind: 'own' },
  });
const scopesIn = ({ data }: Reading) => listOf(data.scopes);
const none = () => [];

/** `lending`: people may lend less. A table of all events: a new event does not compile without a row here. */
const signals: Readonly<Record<EventType, Row | 'lending' | 'none'>> = {
  'agent.created': 'none',
  // Its scopes count at our own API, and where unregistered resources are allowed: no receiver can know for which audiences.
  'agent.updated': 'none',
  'agent.suspended': ['The agent was suspended.', agent],
  'agent.reactivated': 'none',
  'agent.decommissioned': ['The agent was decommissioned.', forGood(agent)],
  'credential.generated': 'none',
  'credential.rotated': ['The secret of the credential was replaced.', credential('update')],
  'credential.revoked': ['The credential was revoked.', credential('revoke')],
  'token.issued': 'none',
  'token.revoked': ['The token was revoked.', token],
  'token.refused': 'none',
  'authentication.refused': 'none',
  'organization.created': 'none',
  'organization.updated': 'none',
  'organization.suspended': ['The organization was suspended.', organization],
  'organization.reactivated': 'none',
  'organization.deleted': ['The organization was deleted.', forGood(organization)],
  'member.added': 'none',
  'member.updated': 'none',
  'member.removed': 'none',
  'person.invited': 'none',
  'person.updated': 'lending',
  'person.removed': ['The person was removed.', forGood(person)],
  'person.declined': 'none',
  'person.created': 'none',
  'person.suspended': ['The person was suspended.', person],
  'person.activated': 'none',
  'connection.created': 'none',
  'connection.updated': 'none',
  'connection.deleted': 'none',
  'client_policy.updated': 'none',
  'client.registered': 'none',
  'consent.granted': 'none',
  'consent.denied': 'none',
  'consent.revoked': ['The consent was revoked.', chain],
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
  // Each chain that ends with it has an event of its own.
  'trust_policy.updated': 'none',
  'trust_policy.deleted': 'none',
  'id_token.issued': 'none',
  'billing.checkout_started': 'none',
  'billing.portal_opened': 'none',
  'billing.subscription_updated': 'none',
  'billing.cancellation_requested': 'none',
  'delegation.created': 'none',
  // Tokens of the links below name this link in their path.
  'delegation.revoked': ['The delegation was revoked.', chain],
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
  'resource.created': 'none',
  'resource.updated': [
    'The scopes of the API were changed.',
    resource(scopesIn),
    (event) => changedIn(event).includes('scopes'),
  ],
  'resource.deleted': ['The API was deleted.', resource(none)],
  // Each grant that loses scopes with its share or resource has an event of its own.
  'resource.shared': 'lending',
  'resource.unshared': 'lending',
  'share.offered': 'none',
  'share.accepted': 'none',
  'share.declined': 'lending',
  'grant.changed': ['The grant was narrowed.', grant(scopesIn), ({ data }) => data.narrowed === true],
  'grant.removed': ['The grant was removed.', grant(none)],
};

export const signalTypes = (Object.keys(signals) as EventType[]).filter((type) => signals[type] !== 'none');

/** Undefined for an event without a signal of its own. */
export function signalOf(event: DomainEvent, issuer: string): Signal | undefined {
  const row = signals[event.type];
  if (typeof row === 'string') return undefined;
  const [reason, read, onlyIf] = row;
  if (onlyIf && !onlyIf(event)) return undefined;
  const signal = read(event, issuer);
  return { ...signal, details: { ...signal.details, ...commonClaims(event, reason) } };
}

/** Optional claims of CAEP §2. Without personal data, because another organization may read them. */
export const commonClaims = (event: DomainEvent, reason: string) => ({
  initiating_entity: initiatorOf(event),
  reason_admin: { en: reason },
});

function initiatorOf({ actor, agentId, data }: DomainEvent): 'admin' | 'user' | 'system' {
  if (actor.person) return actor.person.personId === data.personId ? 'user' : 'admin';
  if (actor.agentId === undefined) return 'system';
  return actor.agentId === agentId ? 'user' : 'admin';
}

const lendingFields: readonly string[] = ['scopes', 'peopleScopes', 'approvers'];

/** Whose lending an event may narrow. */
export function lendingOf({ type, data }: DomainEvent): Lending | undefined {
  const changed = changedIn({ data });
  if (type === 'person.updated')
    return changed.includes('role') ? { personId: textOf(data.personId) } : undefined;
  if (type === 'resource.updated')
    return changed.some((field) => lendingFields.includes(field))
      ? { resourceId: textOf(data.resourceId) }
      : undefined;
  return signals[type] === 'lending'
    ? { resourceId: textOf(data.resourceId), organizationId: textOf(data.organizationId) }
    : undefined;
}
