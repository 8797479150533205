/** What a token may carry. */

/** The scopes that concern one organization: what an agent gets by default, as far as its creator holds them. */
export const organizationScopes = [
  'agents:read',
  'agents:write',
  'tokens:read',
  'audit:read',
  'webhooks:read',
  'webhooks:write',
] as const;

/** The operator's scope: crosses organizations, and may grant anything. Never given by default. */
export const operatorScope = 'admin:orgs';

export const scopes = [...organizationScopes, operatorScope] as const;

export type Scope = (typeof scopes)[number];

/** What a delegation can lend: everything but the operator's scope. */
export const delegableScopes: readonly Scope[] = scopes.filter((scope) => scope !== operatorScope);

const known: ReadonlySet<string> = new Set(scopes);
export const isScope = (word: string): word is Scope => known.has(word);
