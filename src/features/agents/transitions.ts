/** What may become of an agent, as the spec's table of states has it. */
import type { EventType } from '../../contract/events.ts';
import { fail } from '../../kernel/fail.ts';

export type AgentStatus = 'active' | 'suspended' | 'decommissioned';

/** The event of each allowed step; a step that is not here is refused. Nothing leads out of `decommissioned`. */
export const agentTransitions: Readonly<Record<AgentStatus, Partial<Record<AgentStatus, EventType>>>> = {
  active: { suspended: 'agent.suspended', decommissioned: 'agent.decommissioned' },
  suspended: { active: 'agent.reactivated', decommissioned: 'agent.decommissioned' },
  decommissioned: {},
};

export function eventOf(from: AgentStatus, to: AgentStatus): EventType {
  return from === to ? 'agent.updated' : (agentTransitions[from][to] ?? fail('AGENT_DECOMMISSIONED'));
}
