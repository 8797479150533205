/** The listener at the ledger: deliveries come to be in the transaction of their event, or not at all. */

import type { DomainEvent, LedgerListener } from '../../kernel/domain-event.ts';
import type { Envelope } from '../../kernel/ports/envelope.ts';
import type { Announcer } from './announcer.ts';
import type { Company } from './company.ts';
import { enqueue } from './deliveries-store.ts';
import { envelopeOf } from './envelope.ts';
import { haltSubscriptions } from './store.ts';

const halting: Partial<Record<DomainEvent['type'], boolean>> = {
  'organization.suspended': true,
  'organization.deleted': true,
  'organization.reactivated': false,
};

/** Unless `enabled`, nothing is put down to be delivered. */
export const createOutbox = (
  enabled: boolean,
  company: Company,
  announceSoon: Announcer,
): LedgerListener => ({
  async inTransaction(tx, happenings) {
    for (const { type, organizationId } of happenings) {
      const halted = halting[type];
      if (halted !== undefined) await haltSubscriptions(tx, organizationId, halted);
    }
    if (!enabled || company.isAbsent()) return;
    const envelopes = happenings
      .map(envelopeOf)
      .filter((envelope): envelope is Envelope => envelope !== undefined);
    if (envelopes.length === 0) return;
    enqueue(tx, envelopes);
    tx.afterCommit(() => announceSoon(envelopes));
  },
});
