/** Agents as they were read a moment ago, unless a change is announced: reading one is what registries are asked most. */
import type { InvalidatingCache } from '../../kernel/data/invalidating-cache.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { AgentDeps } from './deps.ts';
import type { Agent } from './schema.ts';

/** The number changes with the shape of what is kept: nodes of two versions may share a store. */
const keyOf = (agentId: string) => `agent:2:${agentId.toLowerCase()}`;

export function createAgentCache(
  { cache, clock }: Pick<AgentDeps, 'cache' | 'clock'>,
  find: (agentId: string) => Promise<Agent | undefined>,
) {
  /** One that is not shown takes the same steps as one that is not there: how long they take must not tell it. */
  return async (agentId: string, isShown: (agent: Agent) => boolean): Promise<Agent | undefined> => {
    const key = keyOf(agentId);
    const [known] = (await cache.getMany([key])) as readonly (Agent | null)[];
    if (known && isShown(known)) return known;
    const readAt = clock.now();
    const agent = await find(agentId);
    if (!agent || !isShown(agent)) return undefined;
    await cache.putIfAbsent([[key, agent]], readAt);
    return agent;
  };
}

/** Whatever happens to an agent; nothing is remembered of one that was not there. */
export const invalidateAgents = (cache: InvalidatingCache): LedgerListener =>
  cache.listener(({ type, agentId }) =>
    type.startsWith('agent.') && type !== 'agent.created' ? [keyOf(agentId)] : [],
  );
