/** Planning a change, which a person applies. */
import Type from '../../../contract/json-schema.ts';
import { limits } from '../../../contract/limits.ts';
import { ToolError, tool } from '../tool.ts';

export const planChange = tool({
  name: 'plan_a_change',
  title: 'Plan a change',
  description:
    'What an identity file (agents, APIs, grants, people, policies, webhooks; YAML or JSON, see countersign://docs/guides/configuration-as-code.md) would change in the organization. It is the plan of `countersign apply --plan`. Nothing is applied: a person reviews the file and runs `countersign apply`.',
  input: Type.Object({
    file: Type.String({
      minLength: 1,
      maxLength: limits.mcp.planCharacters,
      description: 'The text of the file.',
    }),
  }),
  operations: ['getAgent', 'listAgents'],
  moreOperations: [
    'listOrganizations',
    'listConnections',
    'getClientPolicy',
    'getApprovalPolicy',
    'listPeople',
    'listResources',
    'listResourceShares',
    'listResourceGrants',
    'listAgentGrants',
    'listTrustPolicies',
    'listWebhooks',
  ],
  isReadOnly: true,
  async run({ file }, { planChange: plan }) {
    const planned = await plan(file);
    if (!planned) throw new ToolError('This server makes no plans. Use `countersign apply --plan`.');
    if ('problem' in planned) throw new ToolError('The file cannot be planned.', planned);
    return { ...planned, applied: false };
  },
});
