/**
 * Verification of a scope of one chain: from a checkpoint (or the beginning, or an anchor) to a later checkpoint. It reads
 * the rows and feeds them to the rules (chain/verify-chain.ts).
 */
import type { Tx } from '../../../kernel/data/db.ts';
import type { PublicKey, ReadStatement } from '../../../kernel/ports/signer.ts';
import { createEventStream, type EventStream, timeSpanOf } from '../chain/event-stream.ts';
import { readLinkedEvents } from '../chain/evidence-store.ts';
import {
  eventIdIn,
  eventKeyIn,
  eventText,
  recordAt,
  type StoredEvent,
  storedLength,
  timeIn,
  timeTextIn,
} from '../chain/hashes.ts';
import { readSegments, type SegmentRow } from '../chain/segments-store.ts';
import {
  acceptCheckpoint,
  acceptStoredLink,
  type ChainHead,
  type ChainState,
  type LinkEvidence,
  nextHead,
  recordsFinding,
  signatureFinding,
  startChain,
  truncationFinding,
} from '../chain/verify-chain.ts';
import type { Finding } from '../findings.ts';
import { isWithin, type Period } from '../period.ts';
import { type LinkingCutoff, mustBeLinkedTest } from './completeness-store.ts';

interface VerificationRange {
  readonly organizationId: string;
  readonly from: ChainHead;
  /** The tree head that covers `from`. */
  readonly fromTree?: number | undefined;
  /** The number of the last checkpoint; the newest when left out. */
  readonly through?: number | undefined;
  readonly cutoff: LinkingCutoff;
  readonly period?: Period | undefined;
  /** The last head of this chain that this process has seen. */
  readonly seen?: ChainHead | undefined;
  /** Retention dropped the events through this day. */
  readonly droppedThrough?: string | undefined;
  readonly keys: readonly PublicKey[];
  /** Reads row by row from the start: for rows that SQL cannot join into bundles. */
  readonly rowByRow?: boolean;
  readonly onProgress?: ((events: number) => void) | undefined;
}

/** Counts of events: all, those that must have a link by now, and those in the period. */
interface Counts {
  events: number;
  due: number;
  inPeriod: number;
}

export interface RangeResult extends Readonly<Counts> {
  readonly finding?: Finding;
  /** The last checkpoint that follows from the ones before. */
  readonly head: ChainHead;
  /** The tree head of the last segment; 0 when there is none, or its checkpoint is signed itself. */
  readonly lastTree: number;
}

const segmentsPerPage = 500;
/** More are checked in parts: between them other work gets its turn. */
const linksPerPart = 1_000;

interface ScopeCheck {
  readonly tx: Tx;
  readonly scope: VerificationRange;
  readonly stream: EventStream;
  readonly isDue: (appendedIn: string) => boolean;
  readonly state: ChainState;
  readonly counts: Counts;
}

export async function verifyRange(
  tx: Tx,
  read: ReadStatement,
  scope: VerificationRange,
): Promise<RangeResult> {
  const { organizationId, through = Number.MAX_SAFE_INTEGER } = scope;
  const check: ScopeCheck = {
    tx,
    scope,
    stream: createEventStream(tx, organizationId),
    isDue: mustBeLinkedTest(scope.cutoff),
    state: startChain(organizationId, scope.from, scope.droppedThrough),
    counts: { events: 0, due: 0, inPeriod: 0 },
  };
  let last: SegmentRow | undefined;
  let problem: Finding | undefined;
  // The next page is requested before the current one is checked, so that PostgreSQL and this process work in parallel.
  const request = (after: Pick<ChainHead, 'size' | 'number' | 'at'>) => {
    const page =
      after.number < through ? readSegments(tx, organizationId, after, segmentsPerPage) : undefined;
    page?.catch(() => {});
    return page;
  };
  let requested = request(scope.from);
  while (requested && !problem) {
    const page: SegmentRow[] = (await requested).filter(({ number }) => number <= through);
    const end = page.at(-1);
    requested = end && isReadable(end) ? request(end) : undefined;
    for (const segment of page) {
      problem = await verifySegment(check, segment);
      if (problem) break;
      last = segment;
    }
    scope.onProgress?.(check.counts.events);
  }
  await requested?.catch(() => {});
  await check.stream.close();
  if (!problem && last) problem = await signatureFinding(read, last, scope.keys);
  const lastTree = last ? (last.inclusion?.treeHead ?? 0) : (scope.fromTree ?? 0);
  return { ...(problem && { finding: problem }), head: check.state.checkpoint, lastTree, ...check.counts };
}

/** The rules find any other time. It cannot be the place from which to read on. */
const isReadable = ({ at, takenOn }: SegmentRow): boolean => at.startsWith(takenOn);

async function verifySegment(check: ScopeCheck, segment: SegmentRow): Promise<Finding | undefined> {
  const { state } = check;
  const { records, takenOn } = segment;
  const { head, finding: notNext } = nextHead(state.organizationId, state.checkpoint, segment);
  const problem = notNext ?? recordsFinding(state, head, records);
  if (problem) return problem;
  const partLength = linksPerPart * storedLength;
  for (let start = 0; start < records.length; start += partLength) {
    const invalid = await verifyPart(check, takenOn, records.slice(start, start + partLength));
    if (invalid) return invalid;
  }
  return acceptCheckpoint(state, head as ChainHead) ?? replacedFinding(check, head as ChainHead);
}

/** The chain may be longer than the one that was seen, and have another checkpoint in its place. */
const replacedFinding = ({ scope }: ScopeCheck, head: ChainHead): Finding | undefined =>
  scope.seen?.number === head.number ? truncationFinding(scope.organizationId, scope.seen, head) : undefined;

/** In long texts. If they differ in any way, then row by row, which names the exact fault. */
async function verifyPart(check: ScopeCheck, linkedOn: string, stored: string): Promise<Finding | undefined> {
  const { tx, scope, stream, state } = check;
  const records = recordsOf(state.sequence, stored);
  if (!scope.rowByRow && (await stream.readThrough(timeSpanOf(records)))) {
    stream.readAhead();
    const quick = { ...check, state: { ...state }, counts: { ...check.counts } };
    const problem = verifyLinks(quick, records, (record) => ({
      record,
      linkedOn,
      text: stream.take(eventKeyIn(record)),
    }));
    if (!problem) {
      Object.assign(state, quick.state);
      Object.assign(check.counts, quick.counts);
      return undefined;
    }
  }
  const links = records.map((record) => ({ eventId: eventIdIn(record), time: timeTextIn(record) }));
  const events = await readLinkedEvents(tx, scope.organizationId, links);
  return verifyLinks(check, records, (record, index) => {
    const event = events[index];
    const { eventId, time } = links[index] as (typeof links)[number];
    const rest = event && {
      text: eventText(event),
      identity: { eventId, time, canonical: event.canonical },
      columns: event,
    };
    return { record, linkedOn, text: undefined, ...rest };
  });
}

/** Applies the rules to some links, from either source, and counts their events. */
function verifyLinks(
  { scope, state, isDue, counts }: ScopeCheck,
  records: readonly string[],
  evidenceAt: (record: string, index: number) => Omit<LinkEvidence, 'sequence'> & { columns?: StoredEvent },
): Finding | undefined {
  const { period } = scope;
  for (const [index, record] of records.entries()) {
    const link = { ...evidenceAt(record, index), sequence: state.sequence + 1 };
    const problem = acceptStoredLink(state, link, link.columns);
    if (problem) return problem;
    const { text } = link;
    if (text === undefined) continue;
    counts.events += 1;
    if (isDue(text.slice(0, text.indexOf(' ')))) counts.due += 1;
    if (period && isWithin(period, timeIn(record))) counts.inPeriod += 1;
  }
  return undefined;
}

function recordsOf(after: number, stored: string): string[] {
  const records: string[] = [];
  for (let start = 0; start < stored.length; start += storedLength)
    records.push(recordAt(after + records.length + 1, stored.slice(start, start + storedLength)));
  return records;
}
