/** The rules of one organization's chain: links follow from one another, and signed checkpoints cover them. */

import { eventHash, firstHash, linkHash, rootFrom } from './hashes.ts';
import type { AnchorLine, CheckpointLine, LinkLine } from './lines.ts';
import { type AuditProblem, problem } from './problems.ts';
import {
  type Checkpoint,
  checkpointHash,
  checkpointLeaf,
  keyIdOf,
  type ReadSigned,
  type TreeHead,
  unverifiedClaims,
} from './statements.ts';

/** Where a chain ends according to a checkpoint. */
interface ChainHead {
  /** Of the checkpoint; 0 before the first. */
  readonly number: number;
  readonly size: number;
  readonly head: string;
  /** See `checkpointHash`; null before the first. */
  readonly hash: string | null;
  readonly at: string;
}

/** How far a chain is verified. */
export interface Chain {
  readonly organizationId: string;
  /** The last day whose events retention dropped; empty when it dropped none. */
  readonly droppedThrough: string;
  checkpoint: ChainHead;
  /** Sequence and hash of the last link. */
  sequence: number;
  head: string;
  /** The day of the links since the checkpoint. */
  linkedOn: string | undefined;
  lastCheckpoint: CheckpointLine | undefined;
}

const dayMs = 86_400_000;

export async function startChain(organizationId: string): Promise<Chain> {
  const head = await firstHash(organizationId);
  const checkpoint = { number: 0, size: 0, head, hash: null, at: new Date(0).toISOString() };
  return {
    ...{ organizationId, droppedThrough: '', checkpoint, sequence: 0, head },
    ...{ linkedOn: undefined, lastCheckpoint: undefined },
  };
}

/** A chain whose beginning retention dropped. */
export async function startAtAnchor(
  read: ReadSigned,
  { organizationId, number, at, signed }: AnchorLine,
): Promise<Chain | AuditProblem> {
  const anchor = await read('audit-anchor+jwt', signed);
  const matches = anchor?.organizationId === organizationId && anchor.number === number && anchor.at === at;
  if (!matches) return problem('ANCHOR_NOT_SIGNED', { organizationId });
  const empty = await startChain(organizationId);
  const { size, head } = anchor.checkpoint;
  return {
    ...empty,
    droppedThrough: anchor.droppedThrough,
    checkpoint: { ...empty.checkpoint, ...anchor.checkpoint },
    sequence: size,
    head,
  };
}

/** The next link: no gap, the hash of the link before, the hash of its event, the day of its checkpoint. */
export async function acceptLink(chain: Chain, link: LinkLine): Promise<AuditProblem | undefined> {
  const { organizationId } = chain;
  const sequence = chain.sequence + 1;
  const place = { organizationId, sequence };
  if (link.sequence !== sequence) return problem('LINK_MISSING', place);
  const at = { ...place, eventId: link.eventId };
  const hash = await linkHash(chain.head, link);
  if (link.hash !== hash) return problem('LINK_HASH_MISMATCH', at);
  const wrong = await eventProblem(chain, link);
  if (wrong) return problem(wrong, at);
  chain.linkedOn ??= link.linkedOn;
  if (link.linkedOn !== chain.linkedOn) return problem('LINK_DAY_MISMATCH', at);
  chain.sequence = sequence;
  chain.head = hash;
  return undefined;
}

async function eventProblem({ organizationId, droppedThrough }: Chain, { event, time, ...link }: LinkLine) {
  if (!event) return Date.parse(time) < Date.parse(droppedThrough) + dayMs ? undefined : 'EVENT_MISSING';
  if ((await eventHash(event)) !== link.eventHash) return 'EVENT_CHANGED';
  const text = parseObject(event.canonical);
  if (!text) return 'EVENT_TEXT_INVALID';
  // A copy of another event's text has a valid hash of its own.
  return text.organizationId === organizationId &&
    text.eventId === link.eventId &&
    typeof text.timestamp === 'string' &&
    `${text.timestamp.slice(0, -1)}000Z` === time
    ? undefined
    : 'EVENT_TEXT_OF_ANOTHER';
}

/**
 * The next checkpoint: it follows from the one before, has the size, head and day of the links so far, and a trusted key has
 * signed its tree head.
 */
export async function acceptCheckpoint(
  read: ReadSigned,
  chain: Chain,
  line: CheckpointLine,
): Promise<AuditProblem | undefined> {
  const { organizationId, checkpoint: before, sequence } = chain;
  chain.lastCheckpoint = line;
  const follows =
    line.number === before.number + 1 &&
    line.previous === before.hash &&
    line.size > before.size &&
    line.at >= before.at &&
    line.takenOn === line.at.slice(0, 10);
  if (!follows) return problem('CHECKPOINT_NOT_FOLLOWING', { organizationId });
  if (line.inclusion) {
    const treeHead = unverifiedClaims('audit-tree-head+jwt', line.signed);
    if (!(await isIncluded(line, treeHead))) return problem('INCLUSION_PROOF_INVALID', { organizationId });
  } else if (!hasValuesOf(line, unverifiedClaims('audit-checkpoint+jwt', line.signed)))
    return problem('CHECKPOINT_NOT_FOLLOWING', { organizationId });
  const { number, size, head, at } = line;
  if (size !== sequence || head !== chain.head)
    return problem('CHECKPOINT_HEAD_MISMATCH', { organizationId, sequence });
  if (chain.linkedOn !== at.slice(0, 10)) return problem('LINK_DAY_MISMATCH', { organizationId, sequence });
  if (line.inclusion && !(await read('audit-tree-head+jwt', line.signed)))
    return problem('TREE_HEAD_NOT_SIGNED', { organizationId });
  chain.checkpoint = { number, size, head, at, hash: await checkpointHash(line) };
  chain.linkedOn = undefined;
  return undefined;
}

/**
 * A chain ends with a checkpoint. If it is signed itself, the signature covers those before: each names the one before with its
 * signature.
 */
export async function endChain(
  read: ReadSigned,
  { organizationId, sequence, checkpoint, lastCheckpoint: line }: Chain,
): Promise<AuditProblem | undefined> {
  if (sequence > checkpoint.size)
    return problem('LINKS_WITHOUT_CHECKPOINT', { organizationId, sequence: checkpoint.size + 1 });
  if (!line || line.inclusion) return undefined;
  const isSigned = hasValuesOf(line, await read('audit-checkpoint+jwt', line.signed));
  return isSigned ? undefined : problem('CHECKPOINT_NOT_SIGNED', { organizationId });
}

const isIncluded = async (line: CheckpointLine, treeHead: TreeHead | undefined): Promise<boolean> =>
  line.inclusion !== undefined &&
  line.inclusion.treeHead === treeHead?.number &&
  line.inclusion.treeSize === treeHead.size &&
  line.at === treeHead.at &&
  line.keyId === keyIdOf(line.signed) &&
  (await rootFrom(await checkpointLeaf(line), line.inclusion)) === treeHead.root;

const hasValuesOf = (line: CheckpointLine, signed: Checkpoint | undefined): boolean =>
  signed !== undefined &&
  line.organizationId === signed.organizationId &&
  line.number === signed.number &&
  line.size === signed.size &&
  line.head === signed.head &&
  line.at === signed.at &&
  line.previous === signed.previous &&
  line.keyId === keyIdOf(line.signed);

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
