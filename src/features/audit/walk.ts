/**
 * Walking a chain: from a checkpoint (or the beginning, or an anchor) over its links and events to a later checkpoint,
 * with every hash computed anew. Checkpoints name the hash of the one before, so the signature of the last vouches for all.
 */
import type { Tx } from '../../kernel/db.ts';
import type { PublicKey, ReadStatement } from '../../kernel/signer.ts';
import type { Finding } from './alarm.ts';
import { hashText, linkHash, linkProblem } from './chain.ts';
import {
  type Bundle,
  readBundle,
  readCheckpoints,
  readLinks,
  type Stretch,
  separator,
} from './evidence-store.ts';
import type { CheckpointRow, Horizon } from './links-store.ts';
import type { Period } from './period.ts';
import { agrees, isGenuine, type Position, positionOf } from './positions.ts';
import { claimed } from './statements.ts';

export interface Way {
  readonly organizationId: string;
  readonly from: Position;
  /** The number of the checkpoint to stop at; the newest when left out. */
  readonly through?: number | undefined;
  readonly horizon: Pick<Horizon, 'settledBefore' | 'next'>;
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

type CheckpointsOf = readonly (CheckpointRow & { takenOn: string })[];

const checkpointsAtOnce = 500;
const linksAtOnce = 2_500;

export async function walk(tx: Tx, read: ReadStatement, way: Way): Promise<Walked> {
  const { organizationId, horizon, period } = way;
  let position = way.from;
  let last: CheckpointRow | undefined;
  let finding: Finding | undefined;
  const sum = { events: 0, settled: 0, inPeriod: 0 };

  while (!finding && position.number < (way.through ?? Number.MAX_SAFE_INTEGER)) {
    const atMost = Math.min(checkpointsAtOnce, (way.through ?? Number.MAX_SAFE_INTEGER) - position.number);
    const page = await readCheckpoints(tx, organizationId, position.number, atMost);
    if (page.length === 0) break;
    const { sound, problem } = soundPart(position, page);
    const stretches = stretchesOf(organizationId, position.size, sound.at(-1)?.size ?? position.size);
    const ask = (stretch: Stretch | undefined) =>
      stretch && !way.rowByRow ? readBundle(tx, stretch, horizon, period) : undefined;
    let head = position.head;
    let coming = ask(stretches[0]);
    for (const [index, stretch] of stretches.entries()) {
      const bundle = await coming;
      // Asked for now, so that the database works while we do.
      coming = ask(stretches[index + 1]);
      coming?.catch(() => {});
      const covering = sound.filter(({ size }) => size > stretch.after);
      const quick = bundle && checkBundle(bundle, stretch, head, covering);
      if (quick !== undefined && bundle) {
        head = quick;
        sum.events += bundle.events;
        sum.settled += bundle.settled;
        sum.inPeriod += bundle.inPeriod;
      } else {
        const slow = await checkRows(tx, way, stretch, head, covering);
        sum.events += slow.events;
        sum.settled += slow.settled;
        sum.inPeriod += slow.inPeriod;
        head = slow.head;
        finding = slow.finding;
      }
      way.onProgress?.(sum.events);
      if (finding) break;
    }
    await coming?.catch(() => {});
    finding ??= problem === undefined ? undefined : { organizationId, problem };
    last = sound.at(-1) ?? last;
    if (last) position = positionOf(last);
  }
  if (!finding && last && !(await isGenuine(read, last, way.keys)))
    finding = { organizationId, problem: `checkpoint ${last.number} is not what a trusted key has signed` };
  return { ...(finding && { finding }), position, ...sum };
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

/** The hash at the end; undefined when anything is not as it should be, whatever it is. */
function checkBundle(
  bundle: Bundle,
  { after, through }: Stretch,
  head: string,
  covering: CheckpointsOf,
): string | undefined {
  const count = through - after;
  if (bundle.links !== count || bundle.events !== count || bundle.agrees !== true) return undefined;
  const lines = bundle.lines?.split('\n') ?? [];
  const texts = bundle.texts?.split(separator) ?? [];
  if (lines.length !== count || texts.length !== count) return undefined;
  let previous = head;
  let next = 0;
  for (let index = 0; index < count; index += 1) {
    const sequence = after + index + 1;
    const line = lines[index] as string;
    const said = line.slice(0, -65);
    if (!said.startsWith(`${sequence} `) || hashText(texts[index] as string) !== said.slice(-64))
      return undefined;
    previous = linkHash(previous, said);
    if (previous !== line.slice(-64)) return undefined;
    if (covering[next]?.size !== sequence) continue;
    if (covering[next]?.head !== previous) return undefined;
    next += 1;
  }
  const days = covering.slice(0, next + 1).filter(({ size }, index) => index < next || size > through);
  return days.every(({ takenOn }) => takenOn === bundle.firstDay && takenOn === bundle.lastDay)
    ? previous
    : undefined;
}

async function checkRows(tx: Tx, way: Way, stretch: Stretch, head: string, covering: CheckpointsOf) {
  const { organizationId, period, horizon, droppedThrough = '' } = way;
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
      const xid = BigInt(event.appendedIn);
      if (xid < BigInt(horizon.settledBefore) || xid >= BigInt(horizon.next)) sum.settled += 1;
      const time = Date.parse(event.time);
      if (period && time >= period.from && time <= period.to) sum.inPeriod += 1;
    }
    if (checkpoint.size !== sequence) continue;
    if (checkpoint.head !== sum.head)
      return at(sequence, `checkpoint ${checkpoint.number} has another head`, link.eventId);
    next += 1;
  }
  if (rows.length > stretch.through - stretch.after)
    return at(stretch.through, 'there are two links of one number');
  return { ...sum, finding: undefined };
}
