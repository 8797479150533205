/** What a reader of a log trusts, as texts: the key of the log, and witnesses of which a quorum must have cosigned. */
import { type CheckpointPolicy, checkPolicy, type Judgement, judgeCheckpoint } from './judge-checkpoint.ts';
import { openCheckpoint } from './open-checkpoint.ts';
import { parseVerifierKey, signatureTypes } from './verifier-key.ts';

export interface LogTrust {
  /** The verifier key of the log, as `GET /log/key` answers it. */
  readonly key: string;
  /** The verifier keys of witnesses. Without one, only the signature of the log is verified. */
  readonly witnesses?: readonly string[] | undefined;
  /** How many of the witnesses are enough. All of them by default. */
  readonly quorum?: number | undefined;
}

/** Throws a TransparencyError or TypeError when a text is not a key of its kind, or one party would count as two. */
export function readLogTrust({ key, witnesses = [], quorum = witnesses.length }: LogTrust): CheckpointPolicy {
  const policy = {
    logKey: parseVerifierKey(key.trim(), signatureTypes.note),
    witnesses: witnesses.map((text) => parseVerifierKey(text.trim(), signatureTypes.cosignature)),
    quorum,
  };
  if (witnesses.length > 0) checkPolicy(policy);
  else if (quorum !== 0) throw new TypeError('a quorum needs witnesses');
  return policy;
}

/** The same as `judgeCheckpoint`; a policy may have no witnesses. */
export async function judgeTrusted(text: string, policy: CheckpointPolicy): Promise<Judgement> {
  if (policy.witnesses.length > 0) return judgeCheckpoint(text, policy);
  const { checkpoint, note } = await openCheckpoint(text, policy.logKey);
  return { checkpoint, note, cosignatures: [], witnessedAt: undefined, absent: [], lacking: 0 };
}
