/** The scopes of our API. */

/** Scopes within one organization. By default an agent gets those of them that its creator holds. */
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

/** All scopes except the operator's can be delegated. */
export const delegableScopes: readonly Scope[] = scopes.filter((scope) => scope !== operatorScope);

const known: ReadonlySet<string> = new Set(scopes);
export const isScope = (word: string): word is Scope => known.has(word);
