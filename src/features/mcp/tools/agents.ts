/** Finding agents, and what one of them can do. */
import Type from '../../../contract/json-schema.ts';
import { limits } from '../../../contract/limits.ts';
import { isUuid } from '../../../kernel/ids.ts';
import { tool } from '../tool.ts';
import { AgentName, findAgent, shownAgent } from './named-agent.ts';

const Words = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 254, description }));

export const findAgents = tool({
  name: 'find_agents',
  title: 'Find agents',
  description:
    'Finds agents of the organization. Use it when you know a part of a name, an owner, a label or a status, or need an id. Without arguments: the newest agents.',
  input: Type.Object({
    text: Words('An id, or how the e-mail address, display name or owner begins.'),
    label: Words('A label, as key:value, or its key alone.'),
    status: Type.Optional(
      Type.Union(['active', 'suspended', 'decommissioned'].map((one) => Type.Literal(one))),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 50, description: 'At most so many; 20 by default.' }),
    ),
  }),
  operations: ['listAgents'],
  isReadOnly: true,
  async run({ text, label, status, limit = 20 }, { api }) {
    const { data, total } = await api.listAgents({
      query: {
        limit,
        include: 'activity',
        ...(text !== undefined && (isUuid(text) ? { ids: text } : { q: text })),
        ...(label !== undefined && { label: [label] }),
        ...(status !== undefined && { status: status as 'active' }),
      },
    });
    return {
      total,
      agents: data.map((agent) => ({
        ...shownAgent(agent),
        labels: agent.labels,
        lastTokenDate: agent.lastTokenDate ?? null,
        secretExpiresAt: agent.secretExpiresAt ?? null,
      })),
    };
  },
});

export const agentAccess = tool({
  name: 'what_can_agent_do',
  title: 'What can this agent do?',
  description:
    'Everything that one agent can reach now: scopes of this server, APIs that were granted to it, scopes that others delegated to it, workload trust policies, and its role. Says also why an agent gets no tokens.',
  input: Type.Object({ agent: AgentName }),
  operations: ['listAgents', 'getAgentAccess'],
  isReadOnly: true,
  async run({ agent: name }, { api }) {
    const agent = await findAgent(api, name);
    return { agent: shownAgent(agent), ...(await api.getAgentAccess({ agentId: agent.agentId })) };
  },
});

export const expiringSecrets = tool({
  name: 'which_secrets_expire',
  title: 'Which secrets expire?',
  description: `The secrets of agents that expire within the next ${limits.overview.expiryDays} days, the first to expire first, with what to do about them.`,
  input: Type.Object({}),
  operations: ['getOverview'],
  isReadOnly: true,
  async run(_, { api }) {
    const { expiringCredentials } = await api.getOverview();
    return {
      ...expiringCredentials,
      whatToDo:
        'Rotate a secret before it expires: `countersign credentials rotate`, or "Rotate" on the tab Credentials of the agent.',
    };
  },
});
