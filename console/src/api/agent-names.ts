/** Names of agents for lists: the ids that one display needs are asked for together, at most 100 in a request. */
import { useQuery } from '@tanstack/react-query';
import type { Agent, AgentPage } from './generated.ts';
import { sendJson } from './request.ts';

/** The title of an agent, where its e-mail address stands beside it: the address alone identifies the agent. */
export const titleOf = ({ displayName, email }: Pick<Agent, 'displayName' | 'email'>): string =>
  displayName ?? email;

const batchMilliseconds = 20;
const maxBatch = 100;
const staleTime = 300_000;

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Other text, such as a part of an id in the address of a page, is no agent, and would fail the ids that are asked for with it. */
export const isAgentId = (text: string): boolean => uuid.test(text);

type Answer = (agent: Agent | null) => void;
interface Waiting {
  readonly answer: Answer;
  readonly fail: (error: unknown) => void;
}

let waiting = new Map<string, Waiting[]>();
let timer: ReturnType<typeof setTimeout> | undefined;

function fetchAgent(agentId: string): Promise<Agent | null> {
  return new Promise((answer, fail) => {
    waiting.set(agentId, [...(waiting.get(agentId) ?? []), { answer, fail }]);
    if (waiting.size >= maxBatch) flush();
    else timer ??= setTimeout(flush, batchMilliseconds);
  });
}

function flush(): void {
  clearTimeout(timer);
  timer = undefined;
  const batch = waiting;
  waiting = new Map();
  void answerBatch(batch);
}

async function answerBatch(batch: ReadonlyMap<string, readonly Waiting[]>): Promise<void> {
  try {
    const query = new URLSearchParams({ ids: [...batch.keys()].join(','), limit: String(maxBatch) });
    const { data } = (await sendJson('GET', `/console/api/v1/agents?${query}`)) as AgentPage;
    const found = new Map(data.map((agent) => [agent.agentId, agent]));
    for (const [agentId, all] of batch) for (const { answer } of all) answer(found.get(agentId) ?? null);
  } catch (error) {
    for (const all of batch.values()) for (const { fail } of all) fail(error);
  }
}

/** The agent with this id; null when it is not visible to the session, undefined while it loads. */
export function useAgentById(agentId: string | undefined): Agent | null | undefined {
  const { data, isError } = useQuery({
    // The id of an operation comes first, so that an event that makes the list of agents stale makes this stale too.
    queryKey: ['listAgents', 'by id', agentId],
    queryFn: () => fetchAgent(agentId ?? ''),
    enabled: agentId !== undefined && isAgentId(agentId),
    staleTime,
  });
  return isError ? null : data;
}
