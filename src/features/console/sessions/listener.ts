/**
 * Ends sessions and links with their credential, agent, organization, person or connection, in the same transaction. A reactivation does not restore
 * them.
 */

import type { EventType } from '../../../contract/events.ts';
import type { Person } from '../../../kernel/caller.ts';
import type { DomainEvent, LedgerListener } from '../../../kernel/domain-event.ts';
import { deleteLinksOf } from '../links/store.ts';
import type { SessionOwner, Sessions } from './service.ts';

const owners: Partial<Record<EventType, (event: DomainEvent) => SessionOwner | undefined>> = {
  'agent.suspended': ({ agentId }) => ({ agentId }),
  'agent.decommissioned': ({ agentId }) => ({ agentId }),
  'organization.suspended': ({ organizationId }) => ({ organizationId }),
  'organization.deleted': ({ organizationId }) => ({ organizationId }),
  'credential.revoked': ({ data }) => ({ credentialId: String(data.credentialId) }),
  'person.removed': ({ data }) => ({ personId: String(data.personId) }),
  'person.suspended': ({ data }) => ({ personId: String(data.personId) }),
  'person.updated': ({ data }) => (changesPower(data) ? { personId: String(data.personId) } : undefined),
  'connection.updated': ({ data }) =>
    data.status === 'disabled' ? { connectionId: String(data.connectionId) } : undefined,
  'connection.deleted': ({ data }) => ({ connectionId: String(data.connectionId) }),
};

/** The query of a session reads name and e-mail. A waiting invitation gets issuer and subject, before its first session. */
const harmless: readonly unknown[] = ['name', 'email', 'issuer', 'subject'];
const changesPower = ({ changed }: DomainEvent['data']): boolean =>
  !Array.isArray(changed) || changed.some((field) => !harmless.includes(field));

export const sessionTypes = Object.keys(owners) as EventType[];

const actorOf = ({ agentId, ipAddress, userAgent, metadata }: DomainEvent) => ({
  requestId: String(metadata.requestId),
  ipAddress,
  userAgent,
  agentId: metadata.actorId === undefined ? agentId : String(metadata.actorId),
  // The ledger wrote it, by the same name.
  ...(metadata.person !== undefined && { person: metadata.person as Person }),
});

export const createSessionsListener = ({ endAll }: Pick<Sessions, 'endAll'>): LedgerListener => ({
  types: sessionTypes,
  async inTransaction(tx, events) {
    for (const event of events) {
      const owner = owners[event.type]?.(event);
      if (!owner) continue;
      await deleteLinksOf(tx, owner);
      // `agent suspended`, `credential revoked` and so on.
      await endAll(tx, actorOf(event), owner, event.type.replace('.', ' '));
    }
  },
});
