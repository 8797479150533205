/**
 * What subscribers are told of an event: the envelope of the interface, with chosen fields only. Whatever else a service
 * says to the audit log stays there.
 */
import { type WebhookEvent, webhookEvents } from '../../contract/events.ts';
import { timeOfUuid } from '../ids.ts';
import type { Happening } from '../ledger.ts';

export interface Envelope {
  /** The event's id, the same to everyone who is told. */
  readonly id: string;
  readonly type: string;
  readonly organizationId: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown> & { agentId: string }>;
}

const ofAgent = ['agentType', 'status', 'owner', 'version', 'deploymentEnv'];
const ofCredential = ['credentialId', 'credentialType', 'scopes', 'expiresAt'];
const ofToken = ['tokenId', 'scope', 'audience', 'expiresAt'];

/** A table of all, so that a new one cannot be forgotten here. */
const told: Readonly<Record<WebhookEvent, readonly string[]>> = {
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
};

const subscribable: ReadonlySet<string> = new Set(webhookEvents);

/** Undefined for what only the audit log hears: refusals, and what concerns the operator. */
export function envelopeOf(happening: Happening): Envelope | undefined {
  const { eventId, type, outcome, organizationId, agentId, timestamp, data } = happening;
  if (outcome !== 'success' || !subscribable.has(type)) return undefined;
  const chosen: Record<string, unknown> & { agentId: string } = { agentId };
  for (const name of told[type as WebhookEvent]) if (data[name] !== undefined) chosen[name] = data[name];
  if (typeof data.expiresIn === 'number') chosen.expiresAt = expiryOf(String(data.tokenId), data.expiresIn);
  return { id: eventId, type, organizationId, timestamp, data: chosen };
}

/** As `exp` in the token: whole seconds from when it was issued, which its id tells. */
const expiryOf = (tokenId: string, seconds: number): string =>
  new Date((Math.floor(timeOfUuid(tokenId) / 1000) + seconds) * 1000).toISOString();
