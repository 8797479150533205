/** Changes many agents, one request after the other. The API has no operation for many. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { toApiError } from '../../../api/api-error.ts';
import type { Agent, AgentChange } from '../../../api/generated.ts';
import { refreshPaths } from '../../../api/queries.ts';
import { call } from '../../../api/request.ts';
import { visibleText } from '../../../components/TenantText.tsx';
import { nameOf } from './agent-rows.ts';

/** The change of one agent; undefined when nothing is left to change. It may read the agent anew. */
type ChangeOf = (agent: Agent) => AgentChange | undefined | Promise<AgentChange | undefined>;

const most = 3;

/** The change goes on after a refusal. Then an error names the agents that did not change, and a second try sends only those. */
export function useChangeEach(agents: readonly Agent[], refreshes: readonly string[]) {
  const client = useQueryClient();
  const [done, setDone] = useState<ReadonlySet<string>>(new Set());
  const mutation = useMutation({
    mutationFn: async (changeOf: ChangeOf) => {
      const refusals: string[] = [];
      const changed = new Set(done);
      for (const agent of agents.filter(({ agentId }) => !done.has(agentId))) {
        try {
          const body = await changeOf(agent);
          if (body) await call('updateAgent', { params: { agentId: agent.agentId }, body });
          changed.add(agent.agentId);
        } catch (failure) {
          refusals.push(`${visibleText(nameOf(agent))}: ${toApiError(failure).message}`);
        }
      }
      setDone(changed);
      refreshPaths(client, refreshes);
      if (refusals.length > 0)
        throw new Error(
          [
            `${changed.size} of ${agents.length} changed.`,
            ...refusals.slice(0, most),
            ...(refusals.length > most ? [`And ${refusals.length - most} more refusals.`] : []),
          ].join(' '),
        );
    },
  });
  return {
    ...mutation,
    reset: () => {
      setDone(new Set());
      mutation.reset();
    },
  };
}
