/** Ledger listener: copies every change of an agent into its listing, in the same transaction. */

import type { EventType } from '../../contract/events.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { MarketplaceDeps } from './feature.ts';
import { lockListingsOf, updateAgentFields } from './store.ts';

const agentChanges: ReadonlySet<EventType> = new Set([
  'agent.updated',
  'agent.suspended',
  'agent.reactivated',
  'agent.decommissioned',
]);

export const createAgentListener = ({
  factsOf,
  isVerified,
}: Pick<MarketplaceDeps, 'factsOf' | 'isVerified'>): LedgerListener => ({
  async inTransaction(tx, events) {
    const changed = events.filter(({ type }) => agentChanges.has(type)).map(({ agentId }) => agentId);
    if (changed.length === 0) return;
    const listed = await lockListingsOf(tx, changed);
    if (listed.length === 0) return;
    for (const facts of await factsOf(listed, tx))
      await updateAgentFields(tx, facts, await isVerified(facts));
  },
});
