import { delegableScopes, type Scope, scopes } from '../../contract/scopes.ts';
import type { Delegation } from '../../kernel/caller.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { failToken } from '../../kernel/fail.ts';
import type { AuthorizedToken } from '../../kernel/ports/grant.ts';
import type { TokenContents } from './draft-token.ts';
import { type AgentStatus, findAgentStatuses } from './store.ts';

/**
 * The scopes that a token can carry now. For an agent's own token: the agent's allowed scopes. For a delegated token: those of the
 * subject, without the operator's scope; the allowed scopes of the actor and of the agents between do not count.
 */
export const scopeLimit = (
  owner: { readonly allowedScopes: readonly string[] },
  delegation: Delegation | undefined,
): readonly Scope[] =>
  (delegation ? delegableScopes : scopes).filter((scope) => owner.allowedScopes.includes(scope));

/** Leaves out the scopes that the token's owner may not hold now. */
export async function limitScopes(
  tx: Queryable,
  client: AgentStatus,
  { scopes: authorized, ...token }: AuthorizedToken,
): Promise<TokenContents> {
  const { delegation } = token;
  const otherAgents = delegation ? await findOtherAgents(tx, client, delegation) : [];
  const ownerId = delegation?.subjectId ?? client.agentId;
  const owner = [client, ...otherAgents].find(({ agentId }) => agentId === ownerId);
  if (!owner) return failToken('unauthorized_client', 'the subject does not exist');
  const carried = scopeLimit(owner, delegation).filter((scope) => authorized.includes(scope));
  return { ...token, scope: carried.join(' '), otherAgents };
}

async function findOtherAgents(
  tx: Queryable,
  { agentId }: AgentStatus,
  { subjectId, actorIds }: Delegation,
): Promise<AgentStatus[]> {
  const otherIds = [subjectId, ...actorIds].filter((id) => id !== agentId);
  return [...(await findAgentStatuses(tx, otherIds)).values()];
}
