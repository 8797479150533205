/** Makes the envelope of the interface from a domain event, with chosen fields only. All other facts stay in the audit log. */
import { type WebhookEvent, webhookEvents } from '../../contract/events.ts';
import { timeOfUuid } from '../../kernel/ids.ts';
import type { EnvelopeOf } from '../../kernel/ports/envelope.ts';

const ofAgent = ['agentType', 'status', 'owner', 'version', 'deploymentEnv'];
const ofCredential = ['credentialId', 'credentialType', 'scopes', 'expiresAt'];
const ofToken = ['tokenId', 'scope', 'audience', 'expiresAt'];
const ofResource = ['resourceId', 'identifier', 'name', 'scopes', 'tokenLifetimeSeconds'];
const ofGrant = ['resourceId', 'identifier', 'organizationId', 'scopes'];

/** The fields that subscribers get. The type requires a row for each event. */
const publicFields: Readonly<Record<WebhookEvent, readonly string[]>> = {
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

const subscribable: ReadonlySet<string> = new Set(webhookEvents);

export const envelopeOf: EnvelopeOf = (event) => {
  const { eventId, type, outcome, organizationId, agentId, timestamp, data } = event;
  if (outcome !== 'success' || !subscribable.has(type)) return undefined;
  const chosen: Record<string, unknown> & { agentId: string } = { agentId };
  for (const name of publicFields[type as WebhookEvent])
    if (data[name] !== undefined) chosen[name] = data[name];
  if (typeof data.expiresIn === 'number') chosen.expiresAt = expiryOf(String(data.tokenId), data.expiresIn);
  return { id: eventId, type, organizationId, timestamp, data: chosen };
};

/** Equals `exp` of the token: whole seconds after its issue, whose time is in the token id (UUID v7). */
const expiryOf = (tokenId: string, seconds: number): string =>
  new Date((Math.floor(timeOfUuid(tokenId) / 1000) + seconds) * 1000).toISOString();
