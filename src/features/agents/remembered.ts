/** Agents as they were read a moment ago, unless a change is announced: reading one is what registries are asked most. */
import type { Announced } from '../../kernel/announced.ts';
import type { LedgerListener } from '../../kernel/ledger.ts';
import { createReader } from '../../kernel/recent.ts';
import type { AgentDeps } from './feature.ts';
import type { Agent } from './schema.ts';

/** The number changes with the shape of what is kept: nodes of two versions may share a store. */
const keyOf = (agentId: string) => `agent:1:${agentId.toLowerCase()}`;

type FindAgent = (agentId: string) => Promise<Agent | undefined>;

export function createRemembered(
  { announced, clock }: Pick<AgentDeps, 'announced' | 'clock'>,
  find: FindAgent,
): FindAgent {
  const read = createReader<Agent>(10_000);
  return async (agentId) => {
    const key = keyOf(agentId);
    const [known] = await announced.recall([key]);
    if (known) return read(known);
    const readAt = clock.now();
    const agent = await find(agentId);
    if (agent) await announced.keep([[key, JSON.stringify(agent)]], readAt);
    return agent;
  };
}

/** Whatever happens to an agent; nothing is remembered of one that was not there. */
export const agentsChange = (announced: Announced): LedgerListener =>
  announced.listener(({ type, agentId }) =>
    type.startsWith('agent.') && type !== 'agent.created' ? [keyOf(agentId)] : [],
  );
