/** The scopes of our API. */

/** Scopes within one organization. Unless DEFAULT_AGENT_SCOPES says otherwise, a new agent gets those of them that its creator holds. */
export const organizationScopes = [
  'agents:read',
  'agents:write',
  'tokens:read',
  'audit:read',
  'webhooks:read',
  'webhooks:write',
] as const;

/** The operator's scope: crosses organizations and may grant any scope. Never given by default. */
export const operatorScope = 'admin:orgs';

/** Registering the customer's own APIs. Not given by default. */
export const resourceScopes = ['resources:read', 'resources:write'] as const;

export const scopes = [...organizationScopes, ...resourceScopes, operatorScope] as const;

export type Scope = (typeof scopes)[number];

export const scopeDescriptions: Readonly<Record<Scope, string>> = {
  'agents:read': 'Read agents, their keys, credentials and listings.',
  'agents:write':
    'Register, change and decommission agents, and manage their credentials and trust policies.',
  'tokens:read': 'Ask whether a token is active.',
  'audit:read': 'Read and verify the audit log.',
  'webhooks:read': 'Read webhook subscriptions and their deliveries.',
  'webhooks:write': 'Create, change and delete webhook subscriptions.',
  'resources:read': 'Read the registered APIs of the organization.',
  'resources:write': 'Register APIs, share them, and grant their scopes.',
  'admin:orgs': 'Operate the instance: all organizations, and every scope.',
};

/** All scopes except the operator's can be delegated. */
export const delegableScopes: readonly Scope[] = scopes.filter((scope) => scope !== operatorScope);

/**
 * For the 401 of a route without a fixed scope: an authorization needs one to begin with, and no scope gives less. A route that needs more
 * says so in its 403.
 */
export const leastScope: Scope = 'agents:read';

/** Of the operations behind the tools of the MCP server, but for those that few arguments need. */
export const mcpScopes: readonly Scope[] = ['agents:read', 'audit:read'];

const known: ReadonlySet<string> = new Set(scopes);
export const isScope = (word: string): word is Scope => known.has(word);
