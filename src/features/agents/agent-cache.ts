/** Read-through cache of agents, invalidated by the ledger: `GET /agents/{agentId}` is the most frequent read of a registry. */
import { auditEvents } from '../../contract/events.ts';
import { andThen, type MaybePromise } from '../../kernel/concurrency/maybe-promise.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { InvalidatingCache } from '../../kernel/invalidating-cache.ts';
import type { AgentDeps } from './feature.ts';
import type { Agent } from './schema.ts';

/** The number changes with the shape of the cached value: nodes of two versions may share a store. */
const keyOf = (agentId: string) => `agent:5:${agentId.toLowerCase()}`;

export function createAgentCache(
  { cache, clock }: Pick<AgentDeps, 'cache' | 'clock'>,
  find: (agentId: string) => Promise<Agent | undefined>,
) {
  /** A hidden agent takes the same steps as a missing one: response times must not differ. */
  return (agentId: string, isVisible: (agent: Agent) => boolean): MaybePromise<Agent | undefined> => {
    const key = keyOf(agentId);
    const readThrough = async () => {
      const readAt = clock.now();
      const agent = await find(agentId);
      if (!agent || !isVisible(agent)) return undefined;
      await cache.putIfAbsent([[key, agent]], readAt);
      return agent;
    };
    return andThen(cache.getMany([key]), (values) => {
      const [cached] = values as readonly (Agent | null)[];
      return cached && isVisible(cached) ? cached : readThrough();
    });
  };
}

/** On every event of an agent, except its creation: misses are not cached. */
export const invalidateAgents = (cache: InvalidatingCache): LedgerListener =>
  cache.listener(
    auditEvents.filter((type) => type.startsWith('agent.') && type !== 'agent.created'),
    ({ agentId }) => [keyOf(agentId)],
  );
