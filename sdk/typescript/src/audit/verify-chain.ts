/**
 * The rules of one organization's chain, written once and without I/O: links follow from one another, and signed checkpoints cover
 * them. The server feeds them the rows of its database, the console the pages of GET /audit/chain, verify-export.ts the lines of an
 * export. The sequencer and retention extend only heads that pass them.
 */
import { type Finding, type FindingPlace, finding } from './findings.ts';
import {
  type EventText,
  eventHashIn,
  eventIdIn,
  eventText,
  firstHash,
  type Link,
  linkHash,
  linkRecord,
  timeIn,
  withMicroseconds,
} from './hashes.ts';
import { leafHash, rootFrom } from './merkle.ts';
import { sha256 } from './sha256.ts';
import {
  type Anchor,
  type AnchorRow,
  type Checkpoint,
  type CheckpointRow,
  checkpointHash,
  checkpointText,
  keyIdOf,
  type PublicKey,
  type ReadStatement,
  readSigned,
  type TreeHead,
  unverifiedClaims,
} from './statements.ts';

/** Where a chain ends, according to a checkpoint, an anchor, or the lack of both. */
export interface ChainHead {
  /** Of the checkpoint; 0 before the first. */
  readonly number: number;
  /** The sequence of the last link. */
  readonly size: number;
  /** The hash of the last link. */
  readonly head: string;
  /** See `checkpointHash`; null before the first. */
  readonly hash: string | null;
  readonly at: string;
}

export const emptyHead = (organizationId: string): ChainHead => ({
  number: 0,
  size: 0,
  head: firstHash(organizationId),
  hash: null,
  at: new Date(0).toISOString(),
});

export const headOf = (row: CheckpointRow): ChainHead => {
  const { number, size, head, at } = row;
  return { number, size, head, at, hash: checkpointHash(row) };
};

export const headAtAnchor = ({ organizationId, checkpoint }: Anchor): ChainHead => ({
  ...emptyHead(organizationId),
  ...checkpoint,
});

/** How far a chain is checked. The `accept` functions move it on, unless they return a finding. */
export interface ChainState {
  readonly organizationId: string;
  /** Retention dropped the events before this time (milliseconds); NaN when it dropped none. */
  readonly droppedBefore: number;
  checkpoint: ChainHead;
  /** Sequence and hash of the last link. */
  sequence: number;
  head: string;
  /** The day of the links since the checkpoint. */
  linkedOn: string | undefined;
}

const dayMs = 86_400_000;

export const startChain = (
  organizationId: string,
  from: ChainHead,
  droppedThrough: string | undefined,
): ChainState => ({
  organizationId,
  droppedBefore: Date.parse(droppedThrough ?? '') + dayMs,
  checkpoint: from,
  sequence: from.size,
  head: from.head,
  linkedOn: undefined,
});

/** One link with its event, from whichever source. */
export interface LinkEvidence {
  readonly sequence: number;
  /** See `linkRecord`. */
  readonly record: string;
  /** Exports have it. A segment stores only the hash of its last link, as the head of its checkpoint. */
  readonly hash?: string;
  /** The chain of GET /audit/chain has it in its checkpoints alone. */
  readonly linkedOn?: string | undefined;
  /** See `eventText`; undefined when there is no event. */
  readonly text: string | undefined;
  /** The canonical text and the values that it must have; left out when SQL compared them already. */
  readonly identity?: Pick<Link, 'eventId' | 'time'> & { readonly canonical: string };
}

type LinkRow = Omit<Link, 'linkedOn'> & { readonly linkedOn?: string };

/** The evidence of a row of the database, or of a line of an export. */
export function evidenceOf(link: LinkRow, event: EventText | undefined): LinkEvidence {
  const { sequence, eventId, time, hash, linkedOn } = link;
  const record = linkRecord(link);
  if (!event) return { sequence, record, hash, linkedOn, text: undefined };
  const identity = { eventId, time, canonical: event.canonical };
  return { sequence, record, hash, linkedOn, text: eventText(event), identity };
}

/**
 * The next link: no gap in the sequence, the hash of the link before, the hash of its event, the day of its checkpoint.
 * Only retention may have removed the event.
 */
export function acceptLink(
  state: ChainState,
  link: LinkEvidence,
  hashLink: typeof linkHash = linkHash,
): Finding | undefined {
  const expected = state.sequence + 1;
  if (link.sequence !== expected) return finding('LINK_MISSING', { expected }, placeOf(state));
  const hash = hashLink(state.head, link.record);
  if (link.hash !== undefined && link.hash !== hash)
    return finding('LINK_HASH_MISMATCH', placeOf(state, link));
  if (link.text === undefined) {
    if (!(timeIn(link.record) < state.droppedBefore)) return finding('EVENT_MISSING', placeOf(state, link));
  } else if (sha256(link.text) !== eventHashIn(link.record))
    return finding('EVENT_CHANGED', placeOf(state, link));
  const problem = identityFinding(state, link);
  if (problem) return problem;
  state.linkedOn ??= link.linkedOn;
  if (link.linkedOn !== state.linkedOn) return finding('LINK_DAY_MISMATCH', placeOf(state, link));
  state.sequence = expected;
  state.head = hash;
  return undefined;
}

/** A copy of another event's text has a valid hash of its own. */
function identityFinding(state: ChainState, link: LinkEvidence): Finding | undefined {
  if (!link.identity) return undefined;
  const { canonical, eventId, time } = link.identity;
  const text = parseObject(canonical);
  if (!text) return finding('EVENT_TEXT_INVALID', placeOf(state, link));
  return text.organizationId === state.organizationId &&
    text.eventId === eventId &&
    typeof text.timestamp === 'string' &&
    withMicroseconds(text.timestamp) === time
    ? undefined
    : finding('EVENT_TEXT_OF_ANOTHER', placeOf(state, link));
}

type DatedCheckpoint = CheckpointRow & { readonly takenOn: string };

/**
 * The head of this checkpoint, if it is the next after `before`: number, previous hash, time, and its row as signed. The
 * signature itself is not checked.
 */
export function nextHead(
  organizationId: string,
  before: ChainHead,
  row: DatedCheckpoint,
): { head: ChainHead; finding?: undefined } | { head?: undefined; finding: Finding } {
  const number = before.number + 1;
  const follows =
    row.number === number &&
    row.previous === before.hash &&
    row.size > before.size &&
    row.at >= before.at &&
    row.takenOn === row.at.slice(0, 10);
  const notFollowing = finding('CHECKPOINT_NOT_FOLLOWING', { number }, { organizationId });
  if (!follows) return { finding: notFollowing };
  if (!row.inclusion)
    return matchesStatement(row, unverifiedClaims('checkpoint', row.signed))
      ? { head: headOf(row) }
      : { finding: notFollowing };
  const problem = inclusionFinding(row, unverifiedClaims('treeHead', row.signed));
  return problem ? { finding: problem } : { head: headOf(row) };
}

/** The checkpoint is a leaf of the tree. */
export function inclusionFinding(row: CheckpointRow, treeHead: TreeHead | undefined): Finding | undefined {
  const { organizationId, number, inclusion } = row;
  if (!inclusion || row.signed === '')
    return finding('TREE_HEAD_MISSING', { number: inclusion?.treeHead ?? 0 }, { organizationId });
  const isIncluded =
    inclusion.treeHead === treeHead?.number &&
    inclusion.treeSize === treeHead.size &&
    row.at === treeHead.at &&
    row.keyId === keyIdOf(row.signed) &&
    rootFrom(leafHash(checkpointText(row)), inclusion) === treeHead.root;
  return isIncluded ? undefined : finding('INCLUSION_PROOF_INVALID', { number }, { organizationId });
}

/** The links so far have the size, head and day of a checkpoint. `next` is its `nextHead`. */
export function acceptCheckpoint(state: ChainState, next: ChainHead): Finding | undefined {
  const { organizationId, sequence } = state;
  if (next.size !== sequence || next.head !== state.head)
    return finding('CHECKPOINT_HEAD_MISMATCH', { number: next.number }, { organizationId, sequence });
  if (state.linkedOn !== undefined && state.linkedOn !== next.at.slice(0, 10))
    return finding('LINK_DAY_MISMATCH', { organizationId, sequence });
  state.checkpoint = next;
  state.linkedOn = undefined;
  return undefined;
}

/** A chain ends with a checkpoint. */
export const coverageFinding = (
  organizationId: string,
  lastSequence: number | undefined,
  { size }: ChainHead,
): Finding | undefined =>
  lastSequence !== undefined && lastSequence > size
    ? finding('LINKS_WITHOUT_CHECKPOINT', { organizationId, sequence: size + 1 })
    : undefined;

/** The row has the values of the statement. */
export function matchesStatement(row: CheckpointRow, statement: Checkpoint | undefined): boolean {
  if (!statement) return false;
  const { organizationId, number, size, head, at, previous } = statement;
  return (
    row.organizationId === organizationId &&
    row.number === number &&
    row.size === size &&
    row.head === head &&
    row.at === at &&
    row.previous === previous &&
    row.keyId === keyIdOf(row.signed)
  );
}

/**
 * A trusted key signed the checkpoint, or a tree head that includes it. Each names the one before, so the last signature
 * covers all of them.
 */
export async function signatureFinding(
  read: ReadStatement,
  row: CheckpointRow,
  keys: readonly PublicKey[],
): Promise<Finding | undefined> {
  const { organizationId, number, inclusion } = row;
  if (!inclusion) {
    const isSigned = matchesStatement(row, await readSigned(read, 'checkpoint', row.signed, keys));
    return isSigned ? undefined : finding('CHECKPOINT_NOT_SIGNED', { number }, { organizationId });
  }
  const treeHead = await readSigned(read, 'treeHead', row.signed, keys);
  if (!treeHead && row.signed !== '')
    return finding('TREE_HEAD_NOT_SIGNED', { number: inclusion.treeHead }, { organizationId });
  return inclusionFinding(row, treeHead);
}

/** The anchor, if a trusted key signed it for this organization. */
export async function readAnchor(
  read: ReadStatement,
  keys: readonly PublicKey[],
  organizationId: string,
  row: AnchorRow,
): Promise<{ anchor: Anchor; finding?: undefined } | { anchor?: undefined; finding: Finding }> {
  const anchor = await readSigned(read, 'anchor', row.signed, keys);
  const matches =
    anchor?.organizationId === organizationId && anchor.number === row.number && anchor.at === row.at;
  return matches
    ? { anchor }
    : { finding: finding('ANCHOR_NOT_SIGNED', { number: row.number }, { organizationId }) };
}

function placeOf({ organizationId, sequence }: ChainState, link?: LinkEvidence): FindingPlace {
  const eventId = link && eventIdIn(link.record);
  return { organizationId, sequence: sequence + 1, ...(eventId !== undefined && { eventId }) };
}

export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
