import type { LedgerListener } from '../../kernel/domain-event.ts';
import { revokeChainsOfAgent } from './store.ts';

/**
 * Revokes the chains of an agent that is suspended or decommissioned, in the same transaction. A reactivation does not restore
 * them.
 */
export const revokeChainsWithAgent: LedgerListener = {
  types: ['agent.suspended', 'agent.decommissioned'],
  async inTransaction(tx, events) {
    for (const { agentId, timestamp } of events) await revokeChainsOfAgent(tx, agentId, timestamp);
  },
};
