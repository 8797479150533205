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
  eventText,
  firstHash,
  type Link,
  linkHash,
  linkRecord,
  type StoredEvent,
  sha256,
  timeIn,
  withMicroseconds,
} from './hashes.ts';
import {
  type Anchor,
  type AnchorRow,
  type Checkpoint,
  type CheckpointRow,
  keyIdOf,
  readSigned,
  statementHash,
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
  /** The hash of the checkpoint's text; null before the first. */
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

export const headOf = ({ number, size, head, at, signed }: CheckpointRow): ChainHead => ({
  number,
  size,
  head,
  at,
  hash: statementHash(signed),
});

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
  readonly hash: string;
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
  if (linkHash(state.head, link.record) !== link.hash)
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
  state.head = link.hash;
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

/** The head of this checkpoint, if it is the next after `before`: number, previous hash, time, and its row as signed. */
export function nextHead(before: ChainHead, row: CheckpointRow & { takenOn: string }): ChainHead | undefined {
  const follows =
    row.number === before.number + 1 &&
    row.previous === before.hash &&
    row.size > before.size &&
    row.at >= before.at &&
    row.takenOn === row.at.slice(0, 10) &&
    matchesStatement(row, unverifiedClaims('checkpoint', row.signed));
  return follows ? headOf(row) : undefined;
}

export const notFollowing = (organizationId: string, before: ChainHead): Finding =>
  finding('CHECKPOINT_NOT_FOLLOWING', { number: before.number + 1 }, { organizationId });

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

/** A trusted key signed the checkpoint. Each names the one before, so the last signature covers all of them. */
export async function signatureFinding(
  read: ReadStatement,
  row: CheckpointRow,
  keys: readonly PublicKey[],
): Promise<Finding | undefined> {
  const isSigned = matchesStatement(row, await readSigned(read, 'checkpoint', row.signed, keys));
  const { organizationId, number } = row;
  return isSigned ? undefined : finding('CHECKPOINT_NOT_SIGNED', { number }, { organizationId });
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
  const eventId = link?.record.slice(16, 48).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
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
