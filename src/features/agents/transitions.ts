/** What may become of an agent, as the spec's table of states has it. */
import type { EventType } from '../../contract/events.ts';

export type AgentStatus = 'active' | 'suspended' | 'decommissioned';

/** The event of each allowed step. Staying is no step; nothing leads out of `decommissioned`. */
export const agentTransitions: Readonly<Record<AgentStatus, Partial<Record<AgentStatus, EventType>>>> = {
  active: { suspended: 'agent.suspended', decommissioned: 'agent.decommissioned' },
  suspended: { active: 'agent.reactivated', decommissioned: 'agent.decommissioned' },
  decommissioned: {},
};
