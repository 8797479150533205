/** State transitions of an agent, as in the spec's table. */
import type { EventType } from '../../contract/events.ts';
import { fail } from '../../kernel/fail.ts';

export type AgentStatus = 'active' | 'suspended' | 'decommissioned';

/** The event of each allowed transition; others are refused. `decommissioned` is final. */
export const agentTransitions: Readonly<Record<AgentStatus, Partial<Record<AgentStatus, EventType>>>> = {
  active: { suspended: 'agent.suspended', decommissioned: 'agent.decommissioned' },
  suspended: { active: 'agent.reactivated', decommissioned: 'agent.decommissioned' },
  decommissioned: {},
};

export function eventOf(from: AgentStatus, to: AgentStatus): EventType {
  return from === to ? 'agent.updated' : (agentTransitions[from][to] ?? fail('AGENT_DECOMMISSIONED'));
}
