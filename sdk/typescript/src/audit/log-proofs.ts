/**
 * The proofs of an export that the instance log has its chains. Each leads from the tree head of a checkpoint to the root of one
 * checkpoint of the log, which is in the file as a signed note. The witnesses that the reader trusts must have cosigned it.
 */
import { type ParsedCheckpoint, parseCheckpoint } from '../transparency/checkpoint.ts';
import { isoTimeOf } from '../transparency/cosignature-time.ts';
import { TransparencyError } from '../transparency/errors.ts';
import type { CheckpointPolicy, Judgement } from '../transparency/judge-checkpoint.ts';
import { judgeTrusted } from '../transparency/log-trust.ts';
import { parseNote } from '../transparency/note.ts';
import { verifyInclusion } from '../transparency/verify-proof.ts';
import type { LogProofLine } from './export-lines.ts';
import { type Finding, finding } from './findings.ts';
import { leafHash } from './merkle.ts';
import type { CheckpointRow } from './statements.ts';

/** A quorum of witnesses has cosigned a checkpoint of the instance log. */
export interface Witnessed {
  /** The size of the log at that checkpoint. */
  readonly checkpointSize: number;
  /** When the quorum was reached, by the clocks of the witnesses (ISO 8601). */
  readonly time: string;
  /** The names of those that cosigned, the earliest first. */
  readonly witnesses: readonly string[];
}

export interface LogProofs {
  /** `before` is the checkpoint in the line before; undefined when that is another line, or when the chain has a proof already. */
  accept(line: LogProofLine, before: CheckpointRow | undefined): Promise<Finding | undefined>;
  /** The finding of a chain with checkpoints and without a proof. */
  missing(organizationId: string | undefined): Finding | undefined;
  /** The signed note of the log in the export. */
  note(): string | undefined;
  /** Null without a proof, and when no witnesses are given. */
  witnessed(): Witnessed | null;
}

interface ReadNote {
  readonly text: string;
  readonly checkpoint: ParsedCheckpoint;
  readonly judgement: Judgement | undefined;
}

/** Without a policy, the proofs must lead to the root of the note, and nothing is known about its signatures. */
export function createLogProofs(policy: CheckpointPolicy | undefined): LogProofs {
  let known: ReadNote | undefined;

  /** All proofs of a file are of one note. */
  const read = async (
    text: string,
    place: { organizationId: string },
  ): Promise<{ note: ReadNote; finding?: undefined } | { note?: undefined; finding: Finding }> => {
    if (known?.text === text) return { note: known };
    const refuse = (reason: string) => ({ finding: finding('LOG_PROOF_INVALID', { reason }, place) });
    let note: ReadNote;
    try {
      const checkpoint = parseCheckpoint(parseNote(text).text);
      const judged = policy && (await judge(text, policy, place));
      if (judged?.finding) return judged;
      note = { text, checkpoint, judgement: judged?.judgement };
    } catch (error) {
      if (error instanceof TransparencyError) return refuse(error.message);
      throw error;
    }
    const { origin, size, root } = note.checkpoint;
    if (!known) {
      known = note;
      return { note };
    }
    const isFork =
      known.checkpoint.origin === origin && known.checkpoint.size === size && known.checkpoint.root !== root;
    return isFork
      ? { finding: finding('LOG_FORKED', { size }, place) }
      : refuse('the export has two checkpoints of the log');
  };

  return {
    async accept({ organizationId, number, treeHead, leafIndex, treeSize, proof, checkpoint }, before) {
      const place = { organizationId };
      const refuse = (reason: string) => finding('LOG_PROOF_INVALID', { reason }, place);
      if (!before?.inclusion || before.number !== number || before.inclusion.treeHead !== treeHead)
        return refuse('the proof is not of the checkpoint in the line before it, or the chain has two');
      const { note, finding: problem } = await read(checkpoint, place);
      if (problem) return problem;
      const { size, root } = note.checkpoint;
      if (size !== treeSize) return refuse('the checkpoint of the log has another size than the proof');
      const isIncluded = verifyInclusion({ leafHash: leafHash(before.signed), leafIndex, size, root, proof });
      return isIncluded ? undefined : refuse('the proof does not lead to the root of the log');
    },
    missing: (organizationId) =>
      policy &&
      finding(
        'LOG_QUORUM_MISSING',
        { absent: policy.witnesses.map(({ name }) => name) },
        organizationId === undefined ? {} : { organizationId },
      ),
    note: () => known?.text,
    witnessed: () => (known?.judgement ? witnessedBy(known.judgement) : null),
  };
}

/** Whether the log and enough witnesses have signed the note. */
export async function judge(
  text: string,
  policy: CheckpointPolicy,
  place: { organizationId?: string } = {},
): Promise<{ judgement: Judgement; finding?: undefined } | { judgement?: undefined; finding: Finding }> {
  try {
    const judgement = await judgeTrusted(text, policy);
    const { lacking, absent } = judgement;
    if (lacking === 0) return { judgement };
    const names = absent.map(({ name }) => name);
    return { finding: finding('LOG_QUORUM_MISSING', { lacking, absent: names }, place) };
  } catch (error) {
    if (!(error instanceof TransparencyError)) throw error;
    return { finding: finding('LOG_CHECKPOINT_NOT_SIGNED', { reason: error.message }, place) };
  }
}

export const witnessedBy = ({ checkpoint, cosignatures, witnessedAt }: Judgement): Witnessed | null =>
  witnessedAt === undefined
    ? null
    : {
        checkpointSize: checkpoint.size,
        time: isoTimeOf(witnessedAt),
        witnesses: cosignatures.map(({ witness }) => witness.name),
      };
