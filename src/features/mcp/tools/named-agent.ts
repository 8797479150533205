/** An agent as a person names it: by its id, e-mail address or display name. */
import type { Api } from '../../../../sdk/typescript/src/api.ts';
import type { ListedAgent } from '../../../../sdk/typescript/src/generated.ts';
import Type from '../../../contract/json-schema.ts';
import { isUuid } from '../../../kernel/ids.ts';
import { ToolError } from '../tool.ts';

export const AgentName = Type.String({
  minLength: 1,
  maxLength: 254,
  description: 'The id, e-mail address or display name of the agent.',
});

const maxCandidates = 10;

export async function findAgent(api: Pick<Api, 'listAgents'>, name: string): Promise<ListedAgent> {
  const wanted = name.trim().toLowerCase();
  const query = isUuid(wanted) ? { ids: wanted } : { q: wanted };
  const { data } = await api.listAgents({ query: { ...query, limit: 100 } });
  const named = data.filter(({ agentId, email, displayName }) =>
    [agentId, email.toLowerCase(), displayName?.toLowerCase()].includes(wanted),
  );
  const [one, ...others] = named;
  if (one && others.length === 0) return one;
  const candidates = (named.length > 0 ? named : data)
    .slice(0, maxCandidates)
    .map(({ agentId, email }) => ({ agentId, email }));
  throw new ToolError(
    named.length > 0
      ? 'Several agents have this name. Name one of them by its id.'
      : candidates.length > 0
        ? 'No agent has exactly this name. Name one of these by its id.'
        : 'No agent of the organization has this name, or you may not see it.',
    candidates.length > 0 ? { candidates } : {},
  );
}

export const shownAgent = ({ agentId, email, displayName, status, owner, organizationId }: ListedAgent) => ({
  agentId,
  email,
  displayName,
  status,
  owner,
  organizationId,
});
