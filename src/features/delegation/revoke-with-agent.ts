import type { LedgerListener } from '../../kernel/domain-event.ts';
import { revokeChainsOfAgent } from './store.ts';

/**
 * Revokes the chains of an agent that is suspended or decommissioned, in the same transaction. A reactivation does not restore
 * them.
 */
export const revokeChainsWithAgent: LedgerListener = {
  async inTransaction(tx, events) {
    for (const { type, agentId, timestamp } of events)
      if (type === 'agent.suspended' || type === 'agent.decommissioned')
        await revokeChainsOfAgent(tx, agentId, timestamp);
  },
};
