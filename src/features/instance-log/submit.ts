/**
 * Sends a checkpoint to one witness (C2SP tlog-witness), and judges its answer. A cosignature counts only when the key of the witness has
 * signed this checkpoint at a plausible time. No answer is believed to be more than the claim of this witness.
 */
import {
  formatAddCheckpoint,
  parseKnownSize,
} from '../../../sdk/typescript/src/transparency/add-checkpoint.ts';
import { TransparencyError } from '../../../sdk/typescript/src/transparency/errors.ts';
import {
  type NoteSignature,
  parseNote,
  parseSignatureLines,
} from '../../../sdk/typescript/src/transparency/note.ts';
import { verifySignatures } from '../../../sdk/typescript/src/transparency/open-note.ts';
import type { Witness } from '../../../sdk/typescript/src/transparency/witness-policy.ts';
import { OutboundProblem, type OutboundReason, type OutboundResponse } from '../../kernel/ports/outbound.ts';
import type { WitnessingDeps } from './feature.ts';

export interface Submission {
  /** The checkpoint, signed by the log. */
  readonly note: string;
  readonly size: number;
  /** When it was signed, in milliseconds. */
  readonly signedAt: number;
  /** The consistency proof between an earlier size and this one. */
  proveFrom(oldSize: number): Promise<readonly string[]>;
}

/** What we know of the witness. */
interface Known {
  readonly knownSize: number;
  /** Of its newest cosignature, in seconds. */
  readonly time: number | undefined;
}

export type Outcome =
  | { readonly cosignature: NoteSignature; readonly time: number }
  /** It says that it knows a larger tree, or another tree of a size that we have. */
  | { readonly conflict: 'larger' | 'other'; readonly knownSize: number; readonly failing: string }
  /** `detail` is for the log of the operator only. */
  | { readonly failing: string; readonly detail?: string };

const maxAnswerBytes = 16 * 1024;
/** Clocks of two machines, and the time of a request. */
const toleranceSeconds = 300;

export async function submit(
  { outbound, clock, elapsed }: Pick<WitnessingDeps, 'outbound' | 'clock' | 'elapsed'>,
  { key, url }: Witness,
  { note, size, signedAt, proveFrom }: Submission,
  known: Known,
  timeoutMs: number,
): Promise<Outcome> {
  const endsAt = elapsed() + timeoutMs;
  const parsed = parseNote(note);

  const send = async (oldSize: number): Promise<OutboundResponse> => {
    const proof = oldSize === 0 || oldSize === size ? [] : await proveFrom(oldSize);
    return outbound.send({
      method: 'POST',
      url: `${url}/add-checkpoint`,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: formatAddCheckpoint({ oldSize, proof, note: parsed }),
      timeoutMs: Math.max(1, endsAt - elapsed()),
      maxBytes: maxAnswerBytes,
    });
  };

  const readCosignature = async (body: Buffer): Promise<Outcome> => {
    const verified = await verifySignatures(parsed.text, parseSignatureLines(body), [key]);
    const [first] = verified;
    if (first?.time === undefined) return { failing: 'its answer has no cosignature by its key' };
    const { signature, time } = first;
    const now = clock.now() / 1_000;
    if (time > now + toleranceSeconds)
      return { failing: `the time of its cosignature is ${Math.round(time - now)} seconds in the future` };
    if (time < signedAt / 1_000 - toleranceSeconds)
      return { failing: 'the time of its cosignature is before the checkpoint was signed' };
    if (known.time !== undefined && time < known.time)
      return { failing: 'the time of its cosignature is before that of its last one' };
    return { cosignature: signature, time };
  };

  const ask = async (oldSize: number, isRepeated: boolean): Promise<Outcome> => {
    const { status, body } = await send(oldSize);
    if (status === 200) return readCosignature(body);
    // Our proof is right: the witness has another tree of the old size.
    if (status === 422 && oldSize > 0)
      return { conflict: 'other', knownSize: oldSize, failing: otherTree(oldSize) };
    if (status !== 409) return { failing: failures[status] ?? `it answered with status ${status}` };
    // Of the size that we named it knows another root: some witnesses answer then without a size.
    if (body.length === 0 && oldSize === size)
      return { conflict: 'other', knownSize: size, failing: otherTree(size) };
    const knownSize = parseKnownSize(body);
    if (knownSize > size)
      return {
        conflict: 'larger',
        knownSize,
        failing: `it knows a tree of ${knownSize} entries, and ours has ${size}`,
      };
    // Both are sizes of its newest checkpoint, so the roots differ.
    if (knownSize === oldSize && oldSize === size)
      return { conflict: 'other', knownSize, failing: otherTree(size) };
    if (isRepeated) return { failing: 'it answered with another size again (409)' };
    return ask(knownSize, true);
  };

  try {
    return await ask(Math.min(known.knownSize, size), false);
  } catch (error) {
    if (error instanceof OutboundProblem) return { failing: unanswered[error.reason], detail: error.detail };
    if (error instanceof TransparencyError) return { failing: `its answer is not valid: ${error.message}` };
    throw error;
  }
}

const otherTree = (size: number) => `it knows another tree of ${size} entries than ours`;

const failures: Readonly<Record<number, string>> = {
  400: 'it refused the request as malformed (400)',
  403: 'it refused the checkpoint (403): it does not accept the key of the log, or it has seen a fork',
  404: 'it does not know the log (404): its operator must add the verifier key of /log/key',
  422: 'it refused the proof (422)',
};

const unanswered: Readonly<Record<OutboundReason, string>> = {
  address: 'its address is not allowed',
  unreachable: 'it cannot be reached',
  timeout: 'it did not answer in time',
  tooLarge: 'its answer is too long',
  protocol: 'it has no valid certificate, or does not speak HTTP',
};
