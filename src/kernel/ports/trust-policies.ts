/** The power that a trust policy gives beside the scopes of its tokens. It is read at each decision: a change takes effect at once. */
import type { Caller } from '../caller.ts';
import type { Queryable } from '../data/db.ts';

export interface PolicyPower {
  /** Whether the workload has the role admin that its agent has. */
  readonly actsAsAdmin: boolean;
  /** The scopes of registered resources that it may get and pass on, within the agent's grants. */
  readonly resources: readonly { readonly identifier: string; readonly scopes: readonly string[] }[];
}

export const noPower: PolicyPower = { actsAsAdmin: false, resources: [] };

/** `noPower` for a policy that is disabled or was deleted. */
export type FindPolicyPower = (
  db: Queryable,
  workload: Pick<Caller, 'agentId' | 'trustPolicyId'>,
) => Promise<PolicyPower>;
