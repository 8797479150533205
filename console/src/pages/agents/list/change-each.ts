/** Changes many agents, one request after the other. The API has no operation for many. */
import { toApiError } from '../../../api/api-error.ts';
import type { Agent } from '../../../api/generated.ts';
import { visibleText } from '../../../components/visible-text.ts';

const most = 3;

interface Outcome {
  /** The ids of all agents that have changed, with those of earlier tries. */
  readonly changed: ReadonlySet<string>;
  /** Names the agents that did not change. Undefined: all have. */
  readonly problem?: string;
}

/**
 * Continues after a refusal. Agents of `done` changed in an earlier try. The session's own agent is the last: its change may end the
 * session.
 */
export async function changeEach(
  agents: readonly Agent[],
  done: ReadonlySet<string>,
  ownAgentId: string | null,
  change: (agent: Agent) => Promise<unknown>,
): Promise<Outcome> {
  const isOwn = ({ agentId }: Agent) => agentId === ownAgentId;
  const left = agents.filter(({ agentId }) => !done.has(agentId));
  const changed = new Set(done);
  const refusals: string[] = [];
  for (const agent of [...left.filter((one) => !isOwn(one)), ...left.filter(isOwn)]) {
    try {
      await change(agent);
      changed.add(agent.agentId);
    } catch (failure) {
      refusals.push(`${visibleText(agent.email)}: ${toApiError(failure).message}`);
    }
  }
  if (refusals.length === 0) return { changed };
  const rest = refusals.length - most;
  const sentences = [
    `${changed.size} of ${agents.length} changed.`,
    ...refusals.slice(0, most),
    ...(rest > 0 ? [`And ${rest} more refusals.`] : []),
  ];
  return { changed, problem: sentences.join(' ') };
}
