import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Agent, AgentChange } from '../../../api/generated.ts';
import { refreshPaths } from '../../../api/queries.ts';
import { call } from '../../../api/request.ts';
import { useSession } from '../../../app/session-context.tsx';
import { changeEach } from './change-each.ts';

/** The change of one agent. It may read the agent anew. */
type ChangeOf = (agent: Agent) => AgentChange | Promise<AgentChange>;

/** A mutation of many agents. Its error names those that did not change, and a second try sends only those. */
export function useChangeEach(agents: readonly Agent[], refreshes: readonly string[]) {
  const client = useQueryClient();
  const session = useSession();
  const [done, setDone] = useState<ReadonlySet<string>>(new Set());
  const mutation = useMutation({
    mutationFn: async (changeOf: ChangeOf) => {
      const { changed, problem } = await changeEach(agents, done, session.agentId, async (agent) =>
        call('updateAgent', { params: { agentId: agent.agentId }, body: await changeOf(agent) }),
      );
      setDone(changed);
      refreshPaths(client, refreshes);
      if (problem !== undefined) throw new Error(problem);
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
