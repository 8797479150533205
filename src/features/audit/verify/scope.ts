/**
 * Walking a chain: from a checkpoint (or the beginning, or an anchor) over its links and events to a later checkpoint,
 * with every hash computed anew. Checkpoints name the hash of the one before, so the signature of the last vouches for all.
 */
import type { Tx } from '../../../kernel/data/db.ts';
import type { PublicKey, ReadStatement } from '../../../kernel/ports/signer.ts';
import type { Finding } from '../alarm.ts';
import { agrees, isGenuine, type Position, positionOf } from '../chain/chain-heads.ts';
import { hashText, linkHash, linkProblem, millisecondsOf } from '../chain/hashes.ts';
import type { CheckpointRow } from '../chain/links-store.ts';
import { claimed } from '../chain/statements.ts';
import type { Period } from '../log/period.ts';
import { createEventStream, type EventStream, type Times } from './event-stream.ts';
import {
  type LinkBundle,
  readCheckpoints,
  readLinkBundle,
  readLinks,
  type Settled,
  type Stretch,
  settledTest,
} from './evidence-store.ts';

export interface Way {
  readonly organizationId: string;
  readonly from: Position;
  /** The number of the checkpoint to stop at; the newest when left out. */
  readonly through?: number | undefined;
  readonly settled: Settled;
  readonly period?: Period | undefined;
  /** Events up to this day may be gone. */
  readonly droppedThrough?: string | undefined;
  readonly keys: readonly PublicKey[];
  /** Row by row from the start: for a log that holds what SQL cannot read. */
  readonly rowByRow?: boolean;
  readonly onProgress?: ((events: number) => void) | undefined;
}

export interface Walked {
  readonly finding?: Finding;
  readonly position: Position;
  /** Events that were there; of these, those that must have a link by now, and those of the period asked about. */
  readonly events: number;
  readonly settled: number;
  readonly inPeriod: number;
}

interface Sum {
  head: string;
  events: number;
  settled: number;
  inPeriod: number;
}

type CheckpointsOf = readonly (CheckpointRow & { takenOn: string })[];

const checkpointsAtOnce = 500;
const linksAtOnce = 1_000;

export async function walk(tx: Tx, read: ReadStatement, way: Way): Promise<Walked> {
  const { organizationId } = way;
  const through = way.through ?? Number.MAX_SAFE_INTEGER;
  const stream = createEventStream(tx, organizationId);
  const sum: Sum = { head: way.from.head, events: 0, settled: 0, inPeriod: 0 };
  let position = way.from;
  let last: CheckpointRow | undefined;
  let finding: Finding | undefined;

  while (!finding && position.number < through) {
    const atMost = Math.min(checkpointsAtOnce, through - position.number);
    const page = await readCheckpoints(tx, organizationId, position.number, atMost);
    if (page.length === 0) break;
    const { sound, problem } = soundPart(position, page);
    finding = await walkLinks(tx, way, stream, position.size, sound, sum);
    finding ??= problem === undefined ? undefined : { organizationId, problem };
    last = sound.at(-1) ?? last;
    if (last) position = positionOf(last);
  }
  await stream.close();
  if (!finding && last && !(await isGenuine(read, last, way.keys)))
    finding = { organizationId, problem: `checkpoint ${last.number} is not what a trusted key has signed` };
  const { events, settled, inPeriod } = sum;
  return { ...(finding && { finding }), position, events, settled, inPeriod };
}

async function walkLinks(
  tx: Tx,
  way: Way,
  stream: EventStream,
  after: number,
  checkpoints: CheckpointsOf,
  sum: Sum,
): Promise<Finding | undefined> {
  const stretches = stretchesOf(way.organizationId, after, checkpoints.at(-1)?.size ?? after);
  const ask = (stretch: Stretch | undefined) => {
    const bundle = stretch && !way.rowByRow ? readLinkBundle(tx, stretch) : undefined;
    bundle?.catch(() => {});
    return bundle;
  };
  let coming = ask(stretches[0]);
  for (const [index, stretch] of stretches.entries()) {
    const bundle = await coming;
    const times = bundle?.records ? timesIn(bundle.records) : undefined;
    const there = times !== undefined && (await stream.reach(times));
    // Asked for now, so that the database works while we do.
    coming = ask(stretches[index + 1]);
    if (bundle) stream.readAhead();
    const covering = checkpoints.filter(({ size }) => size > stretch.after);
    const quick = there && bundle ? checkBundle(way, bundle, stream, stretch, sum.head, covering) : undefined;
    const checked = quick ?? (await checkRows(tx, way, stretch, sum.head, covering));
    sum.events += checked.events;
    sum.settled += checked.settled;
    sum.inPeriod += checked.inPeriod;
    sum.head = checked.head;
    way.onProgress?.(sum.events);
    if (checked.finding) {
      await coming?.catch(() => {});
      return checked.finding;
    }
  }
  return undefined;
}

const recordLength = 128;
const lineLength = 192;

function timesIn(records: string): Times {
  let earliest = 'g';
  let latest = '';
  for (let at = 48; at < records.length; at += lineLength) {
    const time = records.slice(at, at + 16);
    if (time > latest) latest = time;
    if (time < earliest) earliest = time;
  }
  return { earliest, latest };
}

/** The checkpoints up to the first that does not follow from the one before. */
function soundPart(from: Position, page: CheckpointsOf): { sound: CheckpointsOf; problem?: string } {
  let before = from;
  for (const [index, row] of page.entries()) {
    const right =
      row.number === before.number + 1 &&
      row.previous === before.hash &&
      row.size > before.size &&
      row.at >= before.at &&
      row.takenOn === row.at.slice(0, 10) &&
      agrees(row, claimed('checkpoint', row.signed));
    if (!right) {
      const sound = page.slice(0, index);
      return {
        sound,
        problem: `checkpoint ${before.number + 1} is missing or does not follow from the one before it`,
      };
    }
    before = positionOf(row);
  }
  return { sound: page };
}

function stretchesOf(organizationId: string, after: number, through: number): Stretch[] {
  const stretches: Stretch[] = [];
  for (let from = after; from < through; from += linksAtOnce)
    stretches.push({ organizationId, after: from, through: Math.min(from + linksAtOnce, through) });
  return stretches;
}

/** Undefined when anything is not as it should be, whatever it is: then it is looked at row by row. */
function checkBundle(
  way: Way,
  { links, records, firstDay, lastDay }: LinkBundle,
  stream: EventStream,
  { after, through }: Stretch,
  head: string,
  covering: CheckpointsOf,
): (Sum & { finding?: undefined }) | undefined {
  const count = through - after;
  if (links !== count || records?.length !== count * lineLength) return undefined;
  const isSettled = settledTest(way.settled);
  const sum = { head, events: count, settled: 0, inPeriod: 0 };
  let next = 0;
  for (let index = 0; index < count; index += 1) {
    const start = index * lineLength;
    const sequence = after + index + 1;
    const record = records.slice(start, start + recordLength);
    const text = stream.take(record.slice(16, 64));
    if (text === undefined || Number.parseInt(record.slice(0, 16), 16) !== sequence) return undefined;
    if (hashText(text) !== record.slice(64)) return undefined;
    sum.head = linkHash(sum.head, record);
    if (sum.head !== records.slice(start + recordLength, start + lineLength)) return undefined;
    if (isSettled(text.slice(0, text.indexOf(' ')))) sum.settled += 1;
    if (way.period && isWithin(way.period, timeOf(record))) sum.inPeriod += 1;
    if (covering[next]?.size !== sequence) continue;
    if (covering[next]?.head !== sum.head) return undefined;
    next += 1;
  }
  const days = covering.slice(0, covering[next - 1]?.size === through ? next : next + 1);
  const sameDay = days.every(({ takenOn }) => takenOn === firstDay && takenOn === lastDay);
  return sameDay ? sum : undefined;
}

const timeOf = (record: string): number => millisecondsOf(record.slice(48, 64));
const isWithin = ({ from, to }: Period, time: number): boolean => time >= from && time <= to;

async function checkRows(
  tx: Tx,
  way: Way,
  stretch: Stretch,
  head: string,
  covering: CheckpointsOf,
): Promise<Sum & { finding?: Finding }> {
  const { organizationId, period, droppedThrough = '' } = way;
  const isSettled = settledTest(way.settled);
  const rows = await readLinks(tx, stretch, stretch.through - stretch.after + 1);
  const sum = { events: 0, settled: 0, inPeriod: 0, head };
  const at = (sequence: number, problem: string, eventId?: string) => ({
    ...sum,
    finding: { organizationId, sequence, eventId, problem },
  });
  let next = 0;
  for (let sequence = stretch.after + 1; sequence <= stretch.through; sequence += 1) {
    const row = rows[sequence - stretch.after - 1];
    if (!row) return at(sequence, `link ${sequence} is missing`);
    const { link, event } = row;
    const problem = linkProblem(sum.head, sequence, link, event);
    if (problem !== undefined) return at(sequence, problem, link.eventId);
    if (!event && link.time.slice(0, 10) > droppedThrough)
      return at(sequence, 'the event is gone, or no longer what it was', link.eventId);
    const checkpoint = covering[next];
    if (!checkpoint) return at(sequence, 'no checkpoint covers the link', link.eventId);
    if (link.linkedOn !== checkpoint.takenOn) return at(sequence, 'the link has been moved', link.eventId);
    sum.head = link.hash;
    if (event) {
      sum.events += 1;
      if (isSettled(event.appendedIn)) sum.settled += 1;
      if (period && isWithin(period, Date.parse(event.time))) sum.inPeriod += 1;
    }
    if (checkpoint.size !== sequence) continue;
    if (checkpoint.head !== sum.head)
      return at(sequence, `checkpoint ${checkpoint.number} has another head`, link.eventId);
    next += 1;
  }
  if (rows.length > stretch.through - stretch.after)
    return at(stretch.through, 'there are two links of one number');
  return sum;
}
