/** The power that a trust policy gives. It is read at each decision: a change takes effect at once. */
import type { Caller } from '../caller.ts';
import type { Queryable } from '../data/db.ts';

export interface PolicyPower {
  /** False for a policy that is disabled or was deleted: it has no other power then. */
  readonly isActive: boolean;
  /** The scopes of our own API, within those of the agent. */
  readonly scopes: readonly string[];
  /** Whether the workload has the role admin that its agent has. */
  readonly actsAsAdmin: boolean;
  /** The scopes of registered resources that it may get and pass on, within the agent's grants. */
  readonly resources: readonly { readonly identifier: string; readonly scopes: readonly string[] }[];
}

export const noPower: PolicyPower = { isActive: false, scopes: [], actsAsAdmin: false, resources: [] };

/** `noPower` for a policy that is disabled or was deleted. */
export type FindPolicyPower = (
  db: Queryable,
  workload: Pick<Caller, 'agentId' | 'trustPolicyId'>,
) => Promise<PolicyPower>;
