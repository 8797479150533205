/** The table `provisioned_proofs`: a proof, and an agent whose workload made it. */
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import { listOf, prepared, sql } from '../../kernel/data/sql.ts';

interface MadeProofs {
  readonly made: readonly string[];
  /** The proofs by which they were made: they inherit the rows. */
  readonly madeBy: readonly string[];
  /** The agent of the workload that made them; undefined for other callers. */
  readonly workload: string | undefined;
  /** Undefined for proofs that do not end by themselves. */
  readonly expiresAt: string | undefined;
}

export const insertProofs = (tx: Tx, { made, madeBy, workload = '', expiresAt = '' }: MadeProofs): void =>
  tx.atCommit(
    'provisionedProofs.insert',
    prepared(sql`
      insert into provisioned_proofs (proof_id, provisioner_id, expires_at)
      select made, provisioner_id, nullif(${expiresAt}::text, '')::timestamptz from (
        select provisioner_id from provisioned_proofs where proof_id = any(${listOf(madeBy)})
        union select nullif(${workload}::text, '')::uuid) as provisioners, unnest(${listOf(made)}) as made
      where provisioner_id is not null
      on conflict do nothing`),
  );

/** Whether a workload of the agent made one of the proofs. */
export async function isProvisionedBy(
  db: Queryable,
  proofs: readonly string[],
  agentId: string,
): Promise<boolean> {
  const found = await db.maybe(
    'provisionedProofs.find',
    prepared(sql`
      select 1 from provisioned_proofs
      where proof_id = any(${listOf(proofs)}) and provisioner_id = ${agentId} limit 1`),
  );
  return found !== undefined;
}

export const deleteExpired = (db: Db, before: Date, limit: number): Promise<number> =>
  db.run(
    'provisionedProofs.deleteExpired',
    sql`delete from provisioned_proofs where ctid = any (array(
          select ctid from provisioned_proofs where expires_at < ${before} limit ${limit} for update skip locked))`,
  );
