/** A chain ends with the suspension or decommissioning of any agent that has a hand in it, in the same transaction. */
import type { LedgerListener } from '../../kernel/domain-event.ts';
import { revokeOfAgent } from './store.ts';

/** Hears of it by way of the ledger, so the agents feature does not have to think of it. For good: a reactivation revives nothing. */
export const chainsEndWithAgents: LedgerListener = {
  async inTransaction(tx, happenings) {
    for (const { type, agentId, timestamp } of happenings)
      if (type === 'agent.suspended' || type === 'agent.decommissioned')
        await revokeOfAgent(tx, agentId, timestamp);
  },
};
