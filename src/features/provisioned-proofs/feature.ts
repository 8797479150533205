/**
 * Provisioned proofs: the proofs that workloads made. A workload has the power of its trust policy, and none over its own agent. But it may provision other agents, and the agents,
 * credentials, keys, trust policies, people, sessions and delegations that it makes are proofs which last longer than its token. So
 * each is stored with the workload's agent, by a ledger listener that no feature can forget. A proof made by such a proof inherits the
 * rows. A caller with one of these proofs is refused the changes that the workload itself is refused. Owns `provisioned_proofs`.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { FindPolicyPower } from '../workload-identity/policies/store.ts';
import { createExpiryLoop } from './loops.ts';
import { createProofsListener, refuseLastingPower, refuseOwnAgent } from './service.ts';

export const createProvisionedProofs = (deps: {
  db: Db;
  clock: Clock;
  findPolicyPower: FindPolicyPower;
}) => ({
  listener: createProofsListener(deps.findPolicyPower),
  loops: [createExpiryLoop(deps)],
  refuseOwnAgent,
  refuseLastingPower,
});

export type ProvisionedProofs = ReturnType<typeof createProvisionedProofs>;
