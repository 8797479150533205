/**
 * The decision of a witness (C2SP tlog-witness): it cosigns a checkpoint that is consistent with all that it has cosigned before, and
 * no other. Its answers never depend on a request whose note the log has not signed.
 */
import {
  formatKnownSize,
  type ParsedAddCheckpoint,
  parseAddCheckpoint,
  sizeContentType,
} from '../../../sdk/typescript/src/transparency/add-checkpoint.ts';
import { cosign } from '../../../sdk/typescript/src/transparency/cosignature.ts';
import type { Signer } from '../../../sdk/typescript/src/transparency/ed25519.ts';
import { TransparencyError } from '../../../sdk/typescript/src/transparency/errors.ts';
import { formatNote, formatSignatureLines } from '../../../sdk/typescript/src/transparency/note.ts';
import { verifySignatures } from '../../../sdk/typescript/src/transparency/open-note.ts';
import type { VerifierKey } from '../../../sdk/typescript/src/transparency/verifier-key.ts';
import { verifyConsistency } from '../../../sdk/typescript/src/transparency/verify-proof.ts';
import type { KnownLog, StateFile } from './state-file.ts';

export interface WitnessAnswer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
  /** For the log of the witness. */
  readonly event?: string;
}

export type AddCheckpointHandler = (body: Uint8Array) => Promise<WitnessAnswer>;

/** Answers one request after the other. */
export function createAddCheckpoint(deps: {
  logs: readonly VerifierKey[];
  signer: Signer;
  state: Pick<StateFile, 'get' | 'put'>;
  /** Seconds since 1970. */
  now(): number;
}): AddCheckpointHandler {
  const { logs, signer, state, now } = deps;
  let last: Promise<unknown> = Promise.resolve();

  const answer = async (body: Uint8Array): Promise<WitnessAnswer> => {
    const request = parse(body);
    if (!request) return refuse(400, 'the request is not of the form of add-checkpoint');
    const { note, checkpoint } = request;
    const keys = logs.filter(({ name }) => name === checkpoint.origin);
    if (keys.length === 0) return refuse(404, 'this witness does not know the log');
    if (!(await isSignedBy(request, keys))) return refuse(403, 'the log has not signed the checkpoint');
    const known = state.get(checkpoint.origin);
    const problem = known ? compare(known, request) : compareFirst(request);
    if (problem && known && known.fork === undefined && isFork(known, request)) {
      state.put(checkpoint.origin, { ...known, fork: formatNote(note) });
      return {
        ...problem,
        event: `FORK: ${checkpoint.origin} has signed two trees of ${known.size} entries`,
      };
    }
    // Also after a fork: the log learns from it that its database went back, or that it is the other tree.
    if (problem) return problem;
    if (known?.fork !== undefined)
      return refuse(403, `the log has signed two trees of ${known.size} entries: no more is cosigned`);
    const { size, root } = checkpoint;
    if (!known || known.size < size) state.put(checkpoint.origin, { size, root });
    const signature = await cosign(note.text, now(), signer);
    return { status: 200, body: formatSignatureLines([signature]), event: `${checkpoint.origin} ${size}` };
  };

  return (body) => {
    const answered = last.then(() => answer(body));
    last = answered.catch(() => {});
    return answered;
  };
}

function parse(body: Uint8Array): ParsedAddCheckpoint | undefined {
  try {
    return parseAddCheckpoint(body);
  } catch (error) {
    if (error instanceof TransparencyError) return undefined;
    throw error;
  }
}

async function isSignedBy({ note }: ParsedAddCheckpoint, keys: readonly VerifierKey[]): Promise<boolean> {
  try {
    return (await verifySignatures(note.text, note.signatures, keys)).length > 0;
  } catch (error) {
    if (error instanceof TransparencyError) return false;
    throw error;
  }
}

/** The witness has cosigned another tree of the same size. */
const isFork = (known: KnownLog, { checkpoint }: ParsedAddCheckpoint): boolean =>
  checkpoint.size === known.size && checkpoint.root !== known.root;

/** Of a log without a checkpoint so far, the first one is believed. */
const compareFirst = ({ oldSize, proof }: ParsedAddCheckpoint): WitnessAnswer | undefined => {
  if (oldSize > 0) return conflict(0);
  return proof.length > 0 ? refuse(422, 'a proof from an empty tree has no lines') : undefined;
};

function compare(known: KnownLog, request: ParsedAddCheckpoint): WitnessAnswer | undefined {
  const { oldSize, proof, checkpoint } = request;
  if (isFork(known, request) || oldSize !== known.size) return conflict(known.size);
  const isConsistent = verifyConsistency({
    oldSize,
    oldRoot: known.root,
    newSize: checkpoint.size,
    newRoot: checkpoint.root,
    proof,
  });
  return isConsistent ? undefined : refuse(422, 'the proof does not lead from the old tree to the new one');
}

const refuse = (status: number, reason: string): WitnessAnswer => ({ status, body: `${reason}\n` });

const conflict = (size: number): WitnessAnswer => ({
  status: 409,
  body: formatKnownSize(size),
  contentType: sizeContentType,
});
