/** The lines of an export that prove that the instance log has its chains. */
import type { LogProofLine } from '../../../../sdk/typescript/src/audit/export-lines.ts';
import type { Queryable } from '../../../kernel/data/db.ts';
import type { LogEvidence } from '../../instance-log/feature.ts';
import type { CheckpointRow } from '../chain/statements.ts';

/** Undefined when the log lacks the tree head, which verification then reports. */
export type LogProof = () => Promise<LogProofLine | undefined>;
/** Undefined for a checkpoint that the log does not have at the size of its checkpoint. */
export type ProveInLog = (row: CheckpointRow) => LogProof | undefined;

/** All proofs of an export are of the same checkpoint of the log. */
export async function openLog(tx: Queryable, evidence: LogEvidence | undefined): Promise<ProveInLog> {
  const log = await evidence?.checkpoint(tx);
  if (!evidence || !log) return () => undefined;
  return ({ organizationId, number, inclusion }) => {
    const treeHead = inclusion?.treeHead ?? 0;
    if (treeHead < log.firstTreeHead || treeHead > log.highestTreeHead) return undefined;
    return async () => {
      const place = await evidence.prove(tx, log, treeHead);
      if (!place) return undefined;
      const { leafIndex, proof } = place;
      const { size: treeSize, text: checkpoint } = log;
      return {
        kind: 'logProof',
        ...{ organizationId, number, treeHead, leafIndex, treeSize, proof, checkpoint },
      };
    };
  };
}
