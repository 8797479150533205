/** Agents as they were read a moment ago, unless a change is announced: reading one is what registries are asked most. */
import type { Announced } from '../../kernel/data/invalidating-cache.ts';
import type { LedgerListener } from '../../kernel/ledger.ts';
import type { AgentDeps } from './deps.ts';
import type { Agent } from './schema.ts';

/** The number changes with the shape of what is kept: nodes of two versions may share a store. */
const keyOf = (agentId: string) => `agent:2:${agentId.toLowerCase()}`;

export function createRemembered(
  { announced, clock }: Pick<AgentDeps, 'announced' | 'clock'>,
  find: (agentId: string) => Promise<Agent | undefined>,
) {
  /** One that is not shown takes the same steps as one that is not there: how long they take must not tell it. */
  return async (agentId: string, isShown: (agent: Agent) => boolean): Promise<Agent | undefined> => {
    const key = keyOf(agentId);
    const [known] = (await announced.recall([key])) as readonly (Agent | null)[];
    if (known && isShown(known)) return known;
    const readAt = clock.now();
    const agent = await find(agentId);
    if (!agent || !isShown(agent)) return undefined;
    await announced.keep([[key, agent]], readAt);
    return agent;
  };
}

/** Whatever happens to an agent; nothing is remembered of one that was not there. */
export const agentsChange = (announced: Announced): LedgerListener =>
  announced.listener(({ type, agentId }) =>
    type.startsWith('agent.') && type !== 'agent.created' ? [keyOf(agentId)] : [],
  );
