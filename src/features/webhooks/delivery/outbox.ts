/** The outbox: a ledger listener that writes one row for an event in the event's own transaction, if it has subscribers. */

import { auditEvents, type EventType, webhookEventOf } from '../../../contract/events.ts';
import type { Envelope } from '../../../kernel/delivery/envelope.ts';
import { envelopeOf } from '../../../kernel/delivery/envelope.ts';
import type { DomainEvent, LedgerListener } from '../../../kernel/domain-event.ts';
import type { SubscriberPresence } from '../subscriptions/presence.ts';
import { haltSubscriptions } from '../subscriptions/store.ts';
import type { FanOut } from './fan-out.ts';
import { append } from './outbox-store.ts';

const haltedAfter: Partial<Record<DomainEvent['type'], boolean>> = {
  'organization.suspended': true,
  'organization.deleted': true,
  'organization.reactivated': false,
};

/** Writes nothing unless `enabled`. */
export const createOutboxListener = (
  enabled: boolean,
  presence: SubscriberPresence,
  fanOut: FanOut,
): LedgerListener => ({
  types: [
    ...auditEvents.filter((type) => webhookEventOf(type)),
    ...(Object.keys(haltedAfter) as EventType[]),
  ],
  async inTransaction(tx, events) {
    for (const { type, organizationId } of events) {
      const halted = haltedAfter[type];
      if (halted !== undefined) await haltSubscriptions(tx, organizationId, halted);
    }
    if (!enabled || presence.isKnownAbsent()) return;
    const envelopes = events
      .map(envelopeOf)
      .filter((envelope): envelope is Envelope => envelope !== undefined);
    if (envelopes.length === 0) return;
    append(tx, envelopes);
    tx.afterCommit(fanOut.soon);
  },
});
