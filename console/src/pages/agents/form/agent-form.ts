/** The fields of an agent, as the dialogs for registering and editing hold them. */
import {
  type Agent,
  type AgentChange,
  type NewAgent,
  type Scope,
  scopeDescriptions,
} from '../../../api/generated.ts';
import type { RequiredFields } from '../../../components/required-fields.ts';
import { labelProblem, labelsOf, labelTexts } from './labels.ts';

export const deploymentEnvs = [
  'development',
  'staging',
  'production',
] as const satisfies readonly Agent['deploymentEnv'][];
export const agentStatuses = [
  'active',
  'suspended',
  'decommissioned',
] as const satisfies readonly Agent['status'][];

/** In the order of the API. */
export const scopeNames = Object.keys(scopeDescriptions) as Scope[];
export const operatorScope: Scope = 'admin:orgs';

/** An operator may give any scope; others give scopes that they hold. */
export const grantableScopes = (held: readonly string[]): readonly Scope[] =>
  held.includes(operatorScope) ? scopeNames : scopeNames.filter((scope) => held.includes(scope));

/** The names are those of the API, so that its messages find their fields. */
export interface AgentValues extends Record<string, unknown> {
  email: string;
  /** Empty: none. */
  displayName: string;
  /** As `key:value`. */
  labels: string[];
  agentType: NewAgent['agentType'];
  version: string;
  capabilities: string[];
  owner: string;
  deploymentEnv: NewAgent['deploymentEnv'];
  organization_id: string;
  allowedScopes: string[];
  /** Empty: the server's limit. */
  rateLimitPerMinute: number | '';
  redirectUris: string[];
  publicClient: boolean;
  dpopBoundAccessTokens: boolean;
  /** Empty: none. */
  notificationUri: string;
}

/** A new agent holds no scope of this server's API unless it is chosen: most agents need only scopes of other APIs. */
export const newAgentValues = (organizationId: string): AgentValues => ({
  email: '',
  displayName: '',
  labels: [],
  agentType: 'custom',
  version: '1.0.0',
  capabilities: [],
  owner: '',
  deploymentEnv: 'development',
  organization_id: organizationId,
  allowedScopes: [],
  rateLimitPerMinute: '',
  redirectUris: [],
  publicClient: false,
  dpopBoundAccessTokens: false,
  notificationUri: '',
});

export const valuesOf = (agent: Agent): AgentValues => ({
  email: agent.email,
  displayName: agent.displayName ?? '',
  labels: labelTexts(agent.labels),
  agentType: agent.agentType,
  version: agent.version,
  capabilities: [...agent.capabilities],
  owner: agent.owner,
  deploymentEnv: agent.deploymentEnv,
  organization_id: agent.organizationId,
  allowedScopes: [...agent.allowedScopes],
  rateLimitPerMinute: agent.rateLimitPerMinute ?? '',
  redirectUris: [...agent.redirectUris],
  publicClient: agent.publicClient,
  dpopBoundAccessTokens: agent.dpopBoundAccessTokens,
  notificationUri: agent.notificationUri ?? '',
});

export const toNewAgent = (values: AgentValues): NewAgent => ({
  email: values.email.trim(),
  ...(values.displayName.trim() !== '' && { displayName: values.displayName.trim() }),
  ...(values.labels.length > 0 && { labels: labelsOf(values.labels) }),
  agentType: values.agentType,
  version: values.version.trim(),
  capabilities: values.capabilities,
  owner: values.owner,
  deploymentEnv: values.deploymentEnv,
  organization_id: values.organization_id,
  allowedScopes: values.allowedScopes as NonNullable<NewAgent['allowedScopes']>,
  ...(values.rateLimitPerMinute !== '' && { rateLimitPerMinute: values.rateLimitPerMinute }),
  ...(values.redirectUris.length > 0 && { redirectUris: values.redirectUris }),
  ...(values.publicClient && { publicClient: true }),
  ...(values.dpopBoundAccessTokens && { dpopBoundAccessTokens: true }),
  ...(values.notificationUri.trim() !== '' && { notificationUri: values.notificationUri.trim() }),
});

/** Only the fields that differ: narrowing scopes needs more rights than a new version. */
export function toChange(values: AgentValues, agent: Agent): AgentChange {
  const wanted: AgentChange = {
    displayName: values.displayName.trim() || null,
    labels: labelsOf(values.labels),
    agentType: values.agentType,
    version: values.version.trim(),
    capabilities: values.capabilities,
    owner: values.owner,
    deploymentEnv: values.deploymentEnv,
    allowedScopes: values.allowedScopes as NonNullable<AgentChange['allowedScopes']>,
    rateLimitPerMinute: values.rateLimitPerMinute === '' ? null : values.rateLimitPerMinute,
    redirectUris: values.redirectUris,
    publicClient: values.publicClient,
    dpopBoundAccessTokens: values.dpopBoundAccessTokens,
    notificationUri: values.notificationUri.trim() || null,
  };
  const differs = ([field, value]: [string, unknown]) =>
    JSON.stringify(comparable(value)) !== JSON.stringify(comparable(agent[field as keyof Agent]));
  return Object.fromEntries(Object.entries(wanted).filter(differs));
}

/** The order of scopes, capabilities and labels has no meaning. */
const comparable = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.toSorted()
    : typeof value === 'object' && value !== null
      ? Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
      : value;

/** The agent of a client document has no capabilities. */
export const requiredOf = (isDocument: boolean): RequiredFields<AgentValues> => ({
  email: 'Enter an e-mail address; it becomes the name of the agent',
  organization_id: 'Enter the id of the organization',
  owner: 'Enter who answers for the agent',
  version: 'Enter a version such as 1.0.0',
  ...(!isDocument && { capabilities: 'Enter at least one, such as resume:read, and press Enter' }),
});

/** What can be said before the request. The API has the last word. */
export function problemsOf({ labels }: AgentValues): Partial<Record<keyof AgentValues, string>> {
  const wrongLabel = labelProblem(labels);
  return wrongLabel ? { labels: wrongLabel } : {};
}
