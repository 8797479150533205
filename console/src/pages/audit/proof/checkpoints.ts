/** One checkpoint: its place after the one before, its inclusion in a signed tree head, or its own signature. */
import type { ChainCheckpoint, PublicKey } from './evidence.ts';
import { type Finding, type FindingCode, finding } from './findings.ts';
import { leafHash, rootFrom, sha256 } from './hashes.ts';
import { type Claims, keyIdOf, type SignatureReader } from './signatures.ts';

/** Where the chain ends, according to a checkpoint, an anchor, or the lack of both. */
export interface ChainHead {
  /** 0 before the first checkpoint. */
  readonly number: number;
  readonly size: number;
  /** The next checkpoint names it as `previous`; null before the first. */
  readonly hash: string | null;
  readonly time: string;
}

/** The part of a checkpoint that can be checked without the ones before it. */
export interface CheckedCheckpoint {
  readonly checkpoint: ChainCheckpoint;
  readonly hash: string;
  readonly invalid: FindingCode | undefined;
}

export async function checkAlone(
  reader: SignatureReader,
  keys: readonly PublicKey[],
  organizationId: string,
  checkpoint: ChainCheckpoint,
): Promise<CheckedCheckpoint> {
  const { inclusion, signed } = checkpoint;
  const text = textOf(organizationId, checkpoint);
  const namesKey = keyIdOf(signed) === checkpoint.keyId;
  if (!inclusion) {
    const claims = await reader.read(signed, 'checkpoint', keys);
    const isSigned = namesKey && claims !== undefined && textOfClaims(claims) === text;
    return {
      checkpoint,
      hash: await sha256(signed),
      invalid: isSigned ? undefined : 'CHECKPOINT_NOT_SIGNED',
    };
  }
  const hash = await leafHash(inclusion.checkpoint);
  const treeHead = await reader.read(signed, 'treeHead', keys);
  if (!treeHead || !namesKey) return { checkpoint, hash, invalid: 'TREE_HEAD_NOT_SIGNED' };
  const isIncluded =
    inclusion.checkpoint === text &&
    treeHead.number === inclusion.treeHead &&
    treeHead.size === inclusion.treeSize &&
    treeHead.at === checkpoint.time &&
    (await rootFrom(hash, inclusion)) === treeHead.root;
  return { checkpoint, hash, invalid: isIncluded ? undefined : 'INCLUSION_PROOF_INVALID' };
}

/** The head of this checkpoint, if it is the next after `before` and covers exactly the links so far. */
export function nextHead(
  before: ChainHead,
  last: { readonly sequence: number; readonly head: string },
  { checkpoint, hash, invalid }: CheckedCheckpoint,
): { head: ChainHead; finding?: undefined } | { finding: Finding } {
  const { number, size, time, previous, headHash, linkedOn } = checkpoint;
  const place = { sequence: last.sequence, checkpoint: number };
  if (invalid) return { finding: finding(invalid, place) };
  const follows =
    number === before.number + 1 &&
    previous === before.hash &&
    size > before.size &&
    time >= before.time &&
    linkedOn === time.slice(0, 10);
  if (!follows)
    return { finding: finding('CHECKPOINT_NOT_FOLLOWING', { ...place, checkpoint: before.number + 1 }) };
  if (size !== last.sequence || headHash !== last.head)
    return { finding: finding('CHECKPOINT_HEAD_MISMATCH', place) };
  return { head: { number, size, hash, time } };
}

/** Canonical JSON (RFC 8785): the leaf of the tree. */
const textOf = (
  organizationId: string,
  { time, headHash, number, previous, size }: ChainCheckpoint,
): string => JSON.stringify({ at: time, head: headHash, number, organizationId, previous, size });

const textOfClaims = ({ at, head, number, organizationId, previous, size }: Claims): string =>
  JSON.stringify({ at, head, number, organizationId, previous, size });
