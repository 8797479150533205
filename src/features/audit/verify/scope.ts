/**
 * Verification of a scope of one chain: from a checkpoint (or the beginning, or an anchor) to a later checkpoint. It reads
 * the rows and feeds them to the rules (chain/rules.ts).
 */
import type { Tx } from '../../../kernel/data/db.ts';
import type { PublicKey, ReadStatement } from '../../../kernel/ports/signer.ts';
import { readCheckpoints } from '../chain/checkpoints-store.ts';
import { eventKeyIn, sequenceIn, timeIn } from '../chain/hashes.ts';
import {
  acceptCheckpoint,
  acceptLink,
  type ChainHead,
  type ChainState,
  evidenceOf,
  type LinkEvidence,
  nextHead,
  notFollowing,
  signatureFinding,
  startChain,
} from '../chain/rules.ts';
import type { CheckpointRow } from '../chain/statements.ts';
import { type Finding, finding } from '../findings.ts';
import { isWithin, type Period } from '../log/period.ts';
import { type LinkingCutoff, mustBeLinkedTest } from './completeness-store.ts';
import { createEventStream, type EventStream, type TimeSpan } from './event-stream.ts';
import {
  type LinkBundle,
  type LinkRange,
  type LinkRow,
  readLinkBundle,
  readLinks,
} from './evidence-store.ts';

export interface VerificationScope {
  readonly organizationId: string;
  readonly from: ChainHead;
  /** The number of the last checkpoint; the newest when left out. */
  readonly through?: number | undefined;
  readonly cutoff: LinkingCutoff;
  readonly period?: Period | undefined;
  /** Retention dropped the events through this day. */
  readonly droppedThrough?: string | undefined;
  readonly keys: readonly PublicKey[];
  /** Reads row by row from the start: for rows that SQL cannot join into bundles. */
  readonly rowByRow?: boolean;
  readonly onProgress?: ((events: number) => void) | undefined;
}

/** Counts of events: all, those that must have a link by now, and those in the period. */
interface Counts {
  readonly events: number;
  readonly due: number;
  readonly inPeriod: number;
}

export interface ScopeResult extends Counts {
  readonly finding?: Finding;
  /** The last checkpoint that follows from the ones before. */
  readonly head: ChainHead;
}

const checkpointsPerPage = 500;
const linksPerRange = 1_000;

export async function verifyScope(
  tx: Tx,
  read: ReadStatement,
  scope: VerificationScope,
): Promise<ScopeResult> {
  const { organizationId, through = Number.MAX_SAFE_INTEGER } = scope;
  const stream = createEventStream(tx, organizationId);
  const state = startChain(organizationId, scope.from, scope.droppedThrough);
  let counts: Counts = { events: 0, due: 0, inPeriod: 0 };
  let head = scope.from;
  let last: CheckpointRow | undefined;
  let problem: Finding | undefined;

  while (!problem && head.number < through) {
    const limit = Math.min(checkpointsPerPage, through - head.number);
    const page = await readCheckpoints(tx, organizationId, head.number, limit);
    if (page.length === 0) break;
    const heads = followingHeads(head, page);
    const checked = await verifyLinks({ tx, scope, stream, state, heads }, counts);
    counts = checked.counts;
    last = page[heads.length - 1] ?? last;
    head = heads.at(-1) ?? head;
    problem = checked.finding;
    if (!problem && heads.length < page.length) problem = notFollowing(organizationId, head);
  }
  await stream.close();
  if (!problem && last) problem = await signatureFinding(read, last, scope.keys);
  return { ...(problem && { finding: problem }), head, ...counts };
}

/** The heads of the checkpoints up to the first that does not follow from the one before. */
function followingHeads(from: ChainHead, page: readonly (CheckpointRow & { takenOn: string })[]) {
  const heads: ChainHead[] = [];
  for (const row of page) {
    const head = nextHead(heads.at(-1) ?? from, row);
    if (!head) break;
    heads.push(head);
  }
  return heads;
}

interface LinkCheck {
  readonly tx: Tx;
  readonly scope: VerificationScope;
  readonly stream: EventStream;
  readonly state: ChainState;
  /** Of the checkpoints that cover the links. */
  readonly heads: readonly ChainHead[];
}

/** The next range is requested before the current one is checked, so that PostgreSQL and this process work in parallel. */
async function verifyLinks(
  check: LinkCheck,
  before: Counts,
): Promise<{ counts: Counts; finding?: Finding | undefined }> {
  const { tx, scope, stream, state, heads } = check;
  const ranges = rangesOf(scope.organizationId, state.sequence, heads.at(-1)?.size ?? state.sequence);
  const request = (range: LinkRange | undefined) => {
    const bundle = range && !scope.rowByRow ? readLinkBundle(tx, range) : undefined;
    bundle?.catch(() => {});
    return bundle;
  };
  let counts = before;
  let requested = request(ranges[0]);
  for (const [index, range] of ranges.entries()) {
    const bundle = await requested;
    const span = bundle?.records ? timeSpanOf(bundle.records) : undefined;
    const hasEvents = span !== undefined && (await stream.readThrough(span));
    requested = request(ranges[index + 1]);
    if (bundle) stream.readAhead();
    const checked =
      (hasEvents && bundle && verifyBundle(check, range, bundle)) || (await verifyRows(check, range));
    counts = sumOf(counts, checked.counts);
    scope.onProgress?.(counts.events);
    if (checked.finding) {
      await requested?.catch(() => {});
      return { counts, finding: checked.finding };
    }
  }
  return { counts };
}

function rangesOf(organizationId: string, after: number, through: number): LinkRange[] {
  const ranges: LinkRange[] = [];
  for (let from = after; from < through; from += linksPerRange)
    ranges.push({ organizationId, after: from, through: Math.min(from + linksPerRange, through) });
  return ranges;
}

const sumOf = (one: Counts, other: Counts): Counts => ({
  events: one.events + other.events,
  due: one.due + other.due,
  inPeriod: one.inPeriod + other.inPeriod,
});

interface RangeResult {
  readonly counts: Counts;
  readonly finding?: Finding;
}

/** Undefined for any finding: `verifyRows` then reads the range again and names the exact fault. */
function verifyBundle(check: LinkCheck, range: LinkRange, bundle: LinkBundle): RangeResult | undefined {
  const { links, records, firstDay, lastDay } = bundle;
  const isComplete = links === range.through - range.after && records?.length === links * lineLength;
  if (!isComplete || firstDay === null || firstDay !== lastDay) return undefined;
  const state = { ...check.state };
  const result = verifyRange({ ...check, state }, range, (index) => {
    const start = index * lineLength;
    const record = records.slice(start, start + recordLength);
    const text = check.stream.take(eventKeyIn(record));
    const hash = records.slice(start + recordLength, start + lineLength);
    // Without its text the row decides whether the event is missing.
    return text === undefined
      ? undefined
      : { sequence: sequenceIn(record), record, hash, linkedOn: firstDay, text };
  });
  if (result.finding) return undefined;
  Object.assign(check.state, state);
  return result;
}

async function verifyRows(check: LinkCheck, range: LinkRange): Promise<RangeResult> {
  const count = range.through - range.after;
  const rows: (LinkRow | undefined)[] = await readLinks(check.tx, range, count + 1);
  const result = verifyRange(check, range, (index) => {
    const row = rows[index];
    return row && evidenceOf(row.link, row.event, row.event);
  });
  if (result.finding || rows.length <= count) return result;
  const { organizationId, through: sequence } = range;
  return { ...result, finding: finding('LINK_DUPLICATE', { organizationId, sequence }) };
}

/** Applies the rules to one range of links, from either source, and counts their events. */
function verifyRange(
  { scope, state, heads }: LinkCheck,
  { after, through }: LinkRange,
  linkAt: (index: number) => LinkEvidence | undefined,
): RangeResult {
  const { organizationId, period } = scope;
  const isDue = mustBeLinkedTest(scope.cutoff);
  const counts = { events: 0, due: 0, inPeriod: 0 };
  let covering = heads.findIndex(({ size }) => size > after);
  for (let sequence = after + 1; sequence <= through; sequence += 1) {
    const link = linkAt(sequence - after - 1);
    if (!link)
      return {
        counts,
        finding: finding('LINK_MISSING', { expected: sequence }, { organizationId, sequence }),
      };
    const problem = acceptLink(state, link);
    if (problem) return { counts, finding: problem };
    const { text, record } = link;
    if (text !== undefined) {
      counts.events += 1;
      if (isDue(text.slice(0, text.indexOf(' ')))) counts.due += 1;
      if (period && isWithin(period, timeIn(record))) counts.inPeriod += 1;
    }
    const checkpoint = heads[covering];
    if (checkpoint?.size !== sequence) continue;
    const mismatch = acceptCheckpoint(state, checkpoint);
    if (mismatch) return { counts, finding: mismatch };
    covering += 1;
  }
  return { counts };
}

const recordLength = 128;
/** Record and hash. */
const lineLength = 192;

/** The times of the events, as the records spell them. */
function timeSpanOf(records: string): TimeSpan {
  let earliest = 'g';
  let latest = '';
  for (let at = 48; at < records.length; at += lineLength) {
    const time = records.slice(at, at + 16);
    if (time > latest) latest = time;
    if (time < earliest) earliest = time;
  }
  return { earliest, latest };
}
