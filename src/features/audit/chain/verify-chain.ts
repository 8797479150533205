/**
 * The rules of the audit chain, written once and without I/O. The verification of the database (verify/scope.ts) and of an
 * export (verify/offline.ts) feed their rows to them. The sequencer and retention extend only heads that pass them.
 */
import { isDeepStrictEqual } from 'node:util';
import type { PublicKey, ReadStatement } from '../../../kernel/ports/signer.ts';
import { type Finding, type FindingPlace, finding } from '../findings.ts';
import {
  type EventText,
  eventHashIn,
  eventIdIn,
  eventText,
  firstHash,
  type Link,
  linkHash,
  linkRecord,
  type StoredEvent,
  sha256,
  storedLength,
  timeIn,
  withMicroseconds,
} from './hashes.ts';
import { createMerkleTree, leafHash, rootFrom } from './merkle.ts';
import {
  type Anchor,
  type AnchorRow,
  type Checkpoint,
  type CheckpointRow,
  checkpointHash,
  checkpointText,
  keyIdOf,
  readSigned,
  statementHash,
  type TreeHead,
  type TreeHeadRow,
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
  readonly linkedOn: string;
  /** See `eventText`; undefined when there is no event. */
  readonly text: string | undefined;
  /** The canonical text and the values that it must have; left out when SQL compared them already. */
  readonly identity?: Pick<Link, 'eventId' | 'time'> & { readonly canonical: string };
  /** The searchable columns of the event; left out when SQL compared them already, or the source has none. */
  readonly columns?: StoredEvent | undefined;
}

/** The evidence of a row of the database, or of a line of an export. */
export function evidenceOf(link: Link, event: EventText | undefined, columns?: StoredEvent): LinkEvidence {
  const { sequence, eventId, time, hash, linkedOn } = link;
  const record = linkRecord(link);
  if (!event) return { sequence, record, hash, linkedOn, text: undefined };
  const identity = { eventId, time, canonical: event.canonical };
  return { sequence, record, hash, linkedOn, text: eventText(event), identity, columns };
}

/**
 * The next link: no gap in the sequence, the hash of the link before, the hash of its event, the day of its checkpoint.
 * Only retention may have removed the event.
 */
export function acceptLink(state: ChainState, link: LinkEvidence): Finding | undefined {
  const expected = state.sequence + 1;
  if (link.sequence !== expected) return finding('LINK_MISSING', { expected }, placeOf(state));
  const hash = linkHash(state.head, link.record);
  if (link.hash !== undefined && link.hash !== hash)
    return finding('LINK_HASH_MISMATCH', placeOf(state, link));
  if (link.text === undefined) {
    if (!(timeIn(link.record) < state.droppedBefore)) return finding('EVENT_MISSING', placeOf(state, link));
  } else if (sha256(link.text) !== eventHashIn(link.record))
    return finding('EVENT_CHANGED', placeOf(state, link));
  const problem = identityFinding(state, link) ?? columnFinding(state, link);
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
  const text = parse(canonical);
  if (!text) return finding('EVENT_TEXT_INVALID', placeOf(state, link));
  return text.organizationId === state.organizationId &&
    text.eventId === eventId &&
    typeof text.timestamp === 'string' &&
    withMicroseconds(text.timestamp) === time
    ? undefined
    : finding('EVENT_TEXT_OF_ANOTHER', placeOf(state, link));
}

/** The searchable columns say the same as the hashed text. */
function columnFinding(state: ChainState, link: LinkEvidence): Finding | undefined {
  if (!link.columns) return undefined;
  const { canonical, appendedIn, seal, time, metadata, ...columns } = link.columns;
  if (!time.endsWith('000Z')) return finding('EVENT_TIME_INEXACT', placeOf(state, link));
  const text = parse(canonical) ?? {};
  const expected = { ...columns, metadata: parseJson(metadata), timestamp: `${time.slice(0, -4)}Z` };
  const differing = Object.entries(expected)
    .filter(([name, value]) => !isDeepStrictEqual(text[name], value))
    .map(([name]) => name);
  if (differing.length === 0 && !canonical.includes(`,"metadata":${metadata},"organizationId":`))
    differing.push('metadata');
  if (differing.length > 0)
    return finding('EVENT_COLUMNS_DIFFER', { columns: differing }, placeOf(state, link));
  return isDeepStrictEqual(text, expected) ? undefined : finding('EVENT_TEXT_HAS_MORE', placeOf(state, link));
}

/** The records of a segment are exactly the links since the checkpoint before. */
export function recordsFinding(
  { organizationId, sequence }: ChainState,
  { size }: ChainHead,
  records: string,
): Finding | undefined {
  const links = Math.floor(records.length / storedLength);
  const missing = sequence + links + 1;
  if (missing <= size)
    return finding('LINK_MISSING', { expected: missing }, { organizationId, sequence: missing });
  return records.length === (size - sequence) * storedLength
    ? undefined
    : finding('LINKS_WITHOUT_CHECKPOINT', { organizationId, sequence: size + 1 });
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
  if (state.linkedOn !== next.at.slice(0, 10))
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

/** A checkpoint that a process saw earlier must still be there: this finds a chain that was truncated with its checkpoints. */
export function truncationFinding(
  organizationId: string,
  seen: ChainHead | undefined,
  now: ChainHead,
): Finding | undefined {
  if (!seen || seen.number < now.number) return undefined;
  if (seen.number === now.number && seen.hash === now.hash) return undefined;
  return finding('CHECKPOINT_LOST', { number: seen.number }, { organizationId });
}

/**
 * The row of a tree head has the values of its text, and names the tree head before. After a gap, which retention leaves when
 * clocks were wrong, `before` is undefined.
 */
export function treeHeadFinding(
  row: TreeHeadRow & { takenOn: string },
  before: TreeHeadRow | undefined,
): Finding | undefined {
  const { number } = row;
  const text = unverifiedClaims('treeHead', row.signed);
  const matches = matchesTreeHead(row, text) && row.takenOn === row.at.slice(0, 10);
  const follows = before === undefined || row.previous === statementHash(before.signed);
  return matches && follows ? undefined : finding('TREE_HEAD_NOT_FOLLOWING', { number });
}

const matchesTreeHead = (row: TreeHeadRow, statement: TreeHead | undefined): boolean =>
  row.number === statement?.number &&
  row.size === statement.size &&
  row.root === statement.root &&
  row.at === statement.at &&
  row.previous === statement.previous &&
  row.keyId === keyIdOf(row.signed);

/** The checkpoints that are left of a tree are those that its tree head signs: as many, and with its root. */
export function leavesFinding(
  { number, size, root }: TreeHead,
  leaves: readonly Checkpoint[],
): Finding | undefined {
  if (leaves.length < size) return finding('TREE_LEAVES_MISSING', { number, size, found: leaves.length });
  const hashes = leaves.map((leaf) => leafHash(checkpointText(leaf))).sort();
  return leaves.length === size && createMerkleTree(hashes).root === root
    ? undefined
    : finding('TREE_LEAVES_DIFFER', { number });
}

/** A trusted key signed the tree head. */
export async function treeHeadSignatureFinding(
  read: ReadStatement,
  row: TreeHeadRow,
  keys: readonly PublicKey[],
): Promise<Finding | undefined> {
  const isSigned = matchesTreeHead(row, await readSigned(read, 'treeHead', row.signed, keys));
  return isSigned ? undefined : finding('TREE_HEAD_NOT_SIGNED', { number: row.number });
}

/** The row has the values of the statement. */
function matchesStatement(row: CheckpointRow, statement: Checkpoint | undefined): boolean {
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

/** The row of a checkpoint whose signature was checked before: it still has the values of its text. */
export const rowFinding = (row: CheckpointRow): Finding | undefined => {
  const { organizationId, number } = row;
  if (row.inclusion) return inclusionFinding(row, unverifiedClaims('treeHead', row.signed));
  return matchesStatement(row, unverifiedClaims('checkpoint', row.signed))
    ? undefined
    : finding('CHECKPOINT_NOT_SIGNED', { number }, { organizationId });
};

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

function parse(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
