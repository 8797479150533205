/** Chains end with their agents and people, in the same transaction. A reactivation does not restore them. */
import type { LedgerListener } from '../../kernel/domain-event.ts';
import { revokeChainsOfAgent, revokeChainsOfPerson } from './store.ts';

export const revokeChainsWithAgent: LedgerListener = {
  types: ['agent.suspended', 'agent.decommissioned'],
  async inTransaction(tx, events) {
    for (const { agentId, timestamp } of events) await revokeChainsOfAgent(tx, agentId, timestamp);
  },
};

export const revokeChainsWithPerson: LedgerListener = {
  types: ['person.suspended', 'person.removed'],
  async inTransaction(tx, events) {
    for (const { data, timestamp } of events)
      await revokeChainsOfPerson(tx, String(data.personId), timestamp);
  },
};
