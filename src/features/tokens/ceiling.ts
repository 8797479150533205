import { delegableScopes, type Scope, scopes } from '../../contract/scopes.ts';
import type { Delegation } from '../../kernel/caller.ts';

interface Holder {
  readonly allowedScopes: readonly string[];
}

/**
 * The scopes that a token can carry now. An agent's own token: what the agent may hold. A delegated token: what the subject
 * may hold, without the operator's scope; what the actor and the agents between them may hold does not count.
 */
export const ceilingOf = (owner: Holder, delegation: Delegation | undefined): readonly Scope[] =>
  (delegation ? delegableScopes : scopes).filter((scope) => owner.allowedScopes.includes(scope));
