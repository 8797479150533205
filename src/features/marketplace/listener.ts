/** Ledger listener: copies every change of an agent into its listing, in the same transaction. */

import type { EventType } from '../../contract/events.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { MarketplaceDeps } from './feature.ts';
import { lockListingsOf, updateAgentFields } from './store.ts';

export const listingTypes: readonly EventType[] = [
  'agent.updated',
  'agent.suspended',
  'agent.reactivated',
  'agent.decommissioned',
];

export const createAgentListener = ({
  factsOf,
  isVerified,
}: Pick<MarketplaceDeps, 'factsOf' | 'isVerified'>): LedgerListener => ({
  types: listingTypes,
  async inTransaction(tx, events) {
    const listed = await lockListingsOf(
      tx,
      events.map(({ agentId }) => agentId),
    );
    if (listed.length === 0) return;
    for (const facts of await factsOf(listed, tx))
      await updateAgentFields(tx, facts, await isVerified(facts));
  },
});
