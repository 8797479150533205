/** Whether an agent can get tokens now. */
import { type Scope, scopes } from '../../contract/scopes.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { failToken } from '../../kernel/fail.ts';
import { type AgentStatus, findAgentStatuses, lockAgentStatus } from './store.ts';

export interface TokenEligibility {
  readonly organizationId: string;
  readonly organizationStatus: AgentStatus['organizationStatus'];
  /** Why the agent can get no token. */
  readonly problem?: string;
  /** The scopes that a token of its own for our API can carry now; none with a problem. */
  readonly scopes: readonly Scope[];
}

/** Undefined when the agent does not exist. It does not change until the transaction ends. */
export async function lockEligibility(tx: Tx, agentId: string): Promise<TokenEligibility | undefined> {
  const status = await lockAgentStatus(tx, agentId);
  return status && eligibilityOf(status);
}

/** The same without a lock. */
export async function findEligibility(db: Queryable, agentId: string): Promise<TokenEligibility | undefined> {
  const status = (await findAgentStatuses(db, [agentId])).get(agentId);
  return status && eligibilityOf(status);
}

/** TokenError unless the agent and its organization are active. */
export function requireActive(status: AgentStatus): void {
  const problem = problemOf(status);
  if (problem !== undefined) failToken('unauthorized_client', problem);
}

function eligibilityOf(status: AgentStatus): TokenEligibility {
  const problem = problemOf(status);
  const { organizationId, organizationStatus } = status;
  if (problem !== undefined) return { organizationId, organizationStatus, problem, scopes: [] };
  return {
    organizationId,
    organizationStatus,
    scopes: scopes.filter((scope) => status.allowedScopes.includes(scope)),
  };
}

function problemOf({ agentStatus, organizationStatus }: AgentStatus): string | undefined {
  if (agentStatus !== 'active') return `the agent is ${agentStatus}`;
  return organizationStatus === 'active' ? undefined : `the organization is ${organizationStatus}`;
}
