/** Ledger listener: the open requests of an agent end with its suspension, in the same transaction. */

import type { EventType } from '../../contract/events.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { ApprovalDeps } from './feature.ts';
import { createCancel } from './service.ts';
import { lockOpenOfAgent } from './store.ts';

export const cancelingTypes: readonly EventType[] = ['agent.suspended', 'agent.decommissioned'];

export function createCancelWithAgent(
  deps: Pick<ApprovalDeps, 'clock' | 'ledger' | 'notifications'>,
): LedgerListener {
  const cancel = createCancel(deps);
  return {
    types: cancelingTypes,
    async inTransaction(tx, events) {
      for (const { agentId, actor, type } of events)
        for (const approval of await lockOpenOfAgent(tx, agentId, new Date(deps.clock.now())))
          await cancel(
            tx,
            actor,
            approval,
            type === 'agent.suspended' ? 'agent suspended' : 'agent decommissioned',
          );
    },
  };
}
