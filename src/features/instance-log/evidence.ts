/** What the witnesses have cosigned, judged by the present list of witnesses; and proofs of tree heads against it. */
import { isoTimeOf } from '../../../sdk/typescript/src/transparency/cosignature-time.ts';
import {
  type CheckpointPolicy,
  type Judgement,
  judgeCheckpoint,
} from '../../../sdk/typescript/src/transparency/judge-checkpoint.ts';
import { proveInclusion } from '../../../sdk/typescript/src/transparency/prove.ts';
import { parseVerifierKey, signatureTypes } from '../../../sdk/typescript/src/transparency/verifier-key.ts';
import type { WitnessPolicy } from '../../../sdk/typescript/src/transparency/witness-policy.ts';
import type { Db, Queryable } from '../../kernel/data/db.ts';
import { createTileReader, indexOf, treeHeadAt } from './entries.ts';
import type { LogEvidence } from './feature.ts';
import { findLog, findNewestLog, type LogRow } from './store.ts';
import { type CosignedCheckpoint, findCheckpoints } from './witnesses-store.ts';

/** What a configured list of witnesses demands of a checkpoint. */
export const checkpointPolicyOf = ({
  witnesses,
  quorum,
}: WitnessPolicy): Pick<CheckpointPolicy, 'witnesses' | 'quorum'> => ({
  witnesses: witnesses.map(({ key }) => key),
  quorum,
});

export function createLogEvidence({
  db: pool,
  policy,
}: {
  db: Db;
  policy: Pick<CheckpointPolicy, 'witnesses' | 'quorum'> | undefined;
}): LogEvidence {
  /** Undefined when it is not of this log, or was changed in the database. */
  const judge = async (log: LogRow, note: string): Promise<Judgement | undefined> => {
    if (!policy) return undefined;
    const { witnesses, quorum } = policy;
    const logKey = parseVerifierKey(log.verifierKey, signatureTypes.note);
    return judgeCheckpoint(note, { logKey, witnesses, quorum }).catch(() => undefined);
  };

  const judgeAll = async (log: LogRow, stored: readonly CosignedCheckpoint[]) => {
    const judged = await Promise.all(stored.map(({ note }) => judge(log, note)));
    // A checkpoint that a witness cosigned after the quorum has the same size.
    return stored
      .flatMap(({ note, size }, at) => {
        const judgement = judged[at];
        return judgement && judgement.checkpoint.size === size ? [{ note, size, judgement }] : [];
      })
      .sort((one, other) => other.size - one.size);
  };

  /** With the most that the list of witnesses allows to say of the log. */
  const best = async (db: Queryable, log: LogRow) => {
    const judged = policy ? await judgeAll(log, await findCheckpoints(db, log.logNumber)) : [];
    return {
      withQuorum: judged.find(({ judgement }) => judgement.witnessedAt !== undefined),
      cosigned: judged.find(({ judgement }) => judgement.cosignatures.length > 0),
    };
  };

  return {
    async checkpoint(db) {
      const log = await findNewestLog(db);
      if (!log) return undefined;
      const { withQuorum, cosigned } = await best(db, log);
      const chosen = withQuorum ?? cosigned ?? { size: log.size, note: log.checkpoint };
      return {
        logNumber: log.logNumber,
        size: chosen.size,
        text: chosen.note,
        hasQuorum: withQuorum !== undefined,
        firstTreeHead: log.firstTreeHead,
        highestTreeHead: treeHeadAt(log, chosen.size - 1),
      };
    },
    async prove(db, { logNumber, size }, treeHead) {
      const log = await findLog(db, logNumber);
      const leafIndex = log && indexOf(log, treeHead);
      if (!log || leafIndex === undefined || leafIndex >= Math.min(size, log.size)) return undefined;
      if (size > log.size) return undefined;
      return { leafIndex, proof: await proveInclusion(createTileReader(db, logNumber), leafIndex, size) };
    },
    async witnessed() {
      const log = await findNewestLog(pool);
      const { withQuorum } = log ? await best(pool, log) : {};
      if (!withQuorum) return null;
      const { size, judgement } = withQuorum;
      return {
        checkpointSize: size,
        time: isoTimeOf(judgement.witnessedAt as number),
        witnesses: judgement.cosignatures.map(({ witness }) => witness.name),
      };
    },
  };
}
