/** Decides whether enough witnesses have cosigned a checkpoint, and since when. */
import { type Cosignature, type OpenedCheckpoint, openCheckpoint } from './open-checkpoint.ts';
import { isSamePublicKey, signatureTypes, type VerifierKey } from './verifier-key.ts';

export interface CheckpointPolicy {
  readonly logKey: VerifierKey;
  /** Each has a name and a public key of its own, and none is the log. */
  readonly witnesses: readonly VerifierKey[];
  /** How many of the witnesses are enough. */
  readonly quorum: number;
  /** In seconds since 1970: cosignatures with a later time do not count. */
  readonly latest?: number;
}

export interface Judgement extends Pick<OpenedCheckpoint, 'checkpoint' | 'note'> {
  /** One per witness, with its earliest time; the earliest first. */
  readonly cosignatures: readonly Cosignature[];
  /** When the quorum was reached, in seconds since 1970; undefined when it is not. */
  readonly witnessedAt: number | undefined;
  /** The witnesses without a cosignature that counts. */
  readonly absent: readonly VerifierKey[];
  /** How many cosignatures the quorum lacks. */
  readonly lacking: number;
}

/** Throws a TransparencyError when the checkpoint is not of this log, or has a wrong signature of the log or a witness. */
export async function judgeCheckpoint(
  input: string | Uint8Array,
  { logKey, witnesses, quorum, latest = Number.MAX_SAFE_INTEGER }: CheckpointPolicy,
): Promise<Judgement> {
  checkPolicy({ logKey, witnesses, quorum });
  const opened = await openCheckpoint(input, logKey, witnesses);
  const counting = opened.cosignatures
    .filter(({ time }) => time <= latest)
    .toSorted((a, b) => a.time - b.time)
    .filter(({ witness }, at, all) => all.findIndex((each) => each.witness === witness) === at);
  return {
    checkpoint: opened.checkpoint,
    note: opened.note,
    cosignatures: counting,
    witnessedAt: counting[quorum - 1]?.time,
    absent: witnesses.filter((each) => !counting.some(({ witness }) => witness === each)),
    lacking: Math.max(0, quorum - counting.length),
  };
}

/** One party must not count as two. Throws a TypeError. */
export function checkPolicy({ logKey, witnesses, quorum }: CheckpointPolicy): void {
  if (logKey.type !== signatureTypes.note)
    throw new TypeError('the key of the log is not one that signs notes');
  witnesses.forEach((witness, at) => {
    if (witness.type !== signatureTypes.cosignature)
      throw new TypeError(`${witness.name} is not a key that cosigns checkpoints`);
    for (const other of [logKey, ...witnesses.slice(0, at)])
      if (other.name === witness.name || isSamePublicKey(other, witness))
        throw new TypeError(`${witness.name} has the name or the public key of another witness or the log`);
  });
  if (!Number.isInteger(quorum) || quorum < 1 || quorum > witnesses.length)
    throw new TypeError('the quorum is between 1 and the number of witnesses');
}
