/** Whether an agent can get tokens now. */
import { type Scope, scopes } from '../../contract/scopes.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { failToken } from '../../kernel/fail.ts';
import type { VerifiedProof } from '../../kernel/ports/possession.ts';
import { type PossessionChecks, usedProof } from './possession.ts';
import { type AgentStatus, findAgentStatuses, lockAgentStatus } from './store.ts';

export interface TokenEligibility {
  readonly organizationId: string;
  readonly organizationStatus: AgentStatus['organizationStatus'];
  /** Why the agent can get no token. */
  readonly problem?: string;
  /** Whether it gets tokens only with a proof of possession. */
  readonly needsProof: boolean;
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

/** TokenError for an agent that demands a proof of possession, in a request without one. */
export function requirePossession({ dpopBoundAccessTokens }: AgentStatus, hasProof: boolean): void {
  if (dpopBoundAccessTokens && !hasProof)
    failToken(
      'invalid_dpop_proof',
      'this agent gets tokens only with a DPoP proof: its dpopBoundAccessTokens is true',
      'no proof of possession',
    );
}

/**
 * Locks the agent until the transaction ends, and uses its proof of possession up. TokenError unless it is active, and has sent the proof
 * that it demands.
 */
export type LockClient = (
  tx: Tx,
  agentId: string,
  keyProof: VerifiedProof | undefined,
) => Promise<AgentStatus>;

export const createLockClient =
  ({ useProofs }: Pick<PossessionChecks, 'useProofs'>): LockClient =>
  async (tx, agentId, keyProof) => {
    const client = await lockAgentStatus(tx, agentId);
    if (!client) return failToken('unauthorized_client', 'the agent does not exist');
    requireActive(client);
    requirePossession(client, keyProof !== undefined);
    if (keyProof && !(await useProofs(tx, [keyProof]))[0]) throw usedProof();
    return client;
  };

function eligibilityOf(status: AgentStatus): TokenEligibility {
  const problem = problemOf(status);
  const { organizationId, organizationStatus, dpopBoundAccessTokens: needsProof } = status;
  if (problem !== undefined) return { organizationId, organizationStatus, problem, needsProof, scopes: [] };
  return {
    organizationId,
    organizationStatus,
    needsProof,
    scopes: scopes.filter((scope) => status.allowedScopes.includes(scope)),
  };
}

function problemOf({ agentStatus, organizationStatus }: AgentStatus): string | undefined {
  if (agentStatus !== 'active') return `the agent is ${agentStatus}`;
  return organizationStatus === 'active' ? undefined : `the organization is ${organizationStatus}`;
}
