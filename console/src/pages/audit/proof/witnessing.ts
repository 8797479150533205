/** Who has cosigned the checkpoint of the log in a file, by the keys that the reader trusts. */
import { UnsupportedAlgorithm } from '../../../../../sdk/typescript/src/audit/statement-reader.ts';
import { parseCheckpoint } from '../../../../../sdk/typescript/src/transparency/checkpoint.ts';
import { isoTimeOf } from '../../../../../sdk/typescript/src/transparency/cosignature-time.ts';
import { TransparencyError } from '../../../../../sdk/typescript/src/transparency/errors.ts';
import { judgeTrusted } from '../../../../../sdk/typescript/src/transparency/log-trust.ts';
import { parseNote } from '../../../../../sdk/typescript/src/transparency/note.ts';
import type { LogKeys } from './log-keys.ts';

export type Witnessing =
  /** No log or no witnesses are known, so none can be missing. `isInLog`: the log has signed that it has the events. */
  | { readonly status: 'none'; readonly isInLog: boolean }
  | { readonly status: 'witnessed'; readonly time: string; readonly witnesses: readonly string[] }
  /** The file may be in order all the same. */
  | { readonly status: 'missing'; readonly reason: string }
  /** A signature is not that of its key. */
  | { readonly status: 'wrong'; readonly reason: string };

/** `note`: the checkpoint of the log in the file, to whose root its proofs lead. */
export async function witnessingOf(note: string | undefined, keys: LogKeys): Promise<Witnessing> {
  const { logs, witnesses, quorum } = keys;
  const missing = (reason: string): Witnessing =>
    witnesses.length === 0 ? { status: 'none', isInLog: false } : { status: 'missing', reason };
  if (note === undefined)
    return missing(
      'The file has no proof that the instance log has its events, so no witness has seen them.',
    );
  const { origin } = parseCheckpoint(parseNote(note).text);
  const logKey = logs.find(({ name }) => name === origin);
  if (!logKey)
    return missing(`Its proof leads to the log ${origin}, and the key of that log is not among your keys.`);
  try {
    const judged = await judgeTrusted(note, { logKey, witnesses, quorum });
    if (judged.witnessedAt !== undefined)
      return {
        status: 'witnessed',
        time: isoTimeOf(judged.witnessedAt),
        witnesses: judged.cosignatures.map(({ witness }) => witness.name),
      };
    if (witnesses.length === 0) return { status: 'none', isInLog: true };
    const absent = judged.absent.map(({ name }) => name).join(', ');
    return missing(`Too few witnesses have cosigned: ${judged.lacking} more of ${absent}.`);
  } catch (error) {
    if (error instanceof UnsupportedAlgorithm) return missing(`This browser ${error.message}.`);
    if (error instanceof TransparencyError) return { status: 'wrong', reason: error.message };
    return missing(`The keys cannot be used together: ${(error as Error).message}.`);
  }
}
