/**
 * Completeness: the log shows no event that is not in the chain. The numbers of events in a period are compared, and only where
 * they differ are events read. An event of a moment ago may not be linked yet: it must be in the chain once all are linked.
 */
import type { Evidence, ShownEvent } from './evidence.ts';
import { type Finding, finding } from './findings.ts';

/** The events of the links that were verified. */
export interface LinkedEvents {
  add(eventId: string, time: number): void;
  /** A copy of an event at another time is another event. */
  has(event: ShownEvent): boolean;
  /** How many have a time in the period, with both ends included. */
  count(from: number, to: number): number;
  readonly size: number;
}

export function createLinkedEvents(): LinkedEvents {
  const keys = new Set<string>();
  const times: number[] = [];
  let isSorted = true;
  const indexOf = (time: number): number => {
    let [low, high] = [0, times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((times[middle] as number) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    add(eventId, time) {
      isSorted &&= time >= (times.at(-1) ?? Number.NEGATIVE_INFINITY);
      keys.add(keyOf(eventId, time));
      times.push(time);
    },
    has: ({ eventId, timestamp }) => keys.has(keyOf(eventId, Date.parse(timestamp))),
    count(from, to) {
      if (!isSorted) times.sort((one, other) => one - other);
      isSorted = true;
      return Math.max(0, indexOf(to + 1) - indexOf(from));
    },
    get size() {
      return keys.size;
    },
  };
}

const keyOf = (eventId: string, time: number): string => `${eventId} ${time}`;

const retentionMs = 90 * 86_400_000;
/** The clock of this computer may be wrong by this much. */
const skewMs = 3_600_000;
const pageSize = 200;

/** Events in the list that may not be in the chain, or the finding that the list lacks events. */
export async function findUnlinked(
  evidence: Pick<Evidence, 'listed'>,
  linked: LinkedEvents,
  { now, linkedUntil }: { now: number; linkedUntil: number },
): Promise<{ suspects: ShownEvent[]; finding?: Finding }> {
  const from = await startOf(evidence, now);
  const { events: recent } = await evidence.listed({ from: Math.max(from, linkedUntil + 1) }, pageSize);
  const suspects = recent.filter((event) => !linked.has(event));
  if (linkedUntil < from) return { suspects };
  let [low, high] = [from, linkedUntil];
  let { total } = await evidence.listed({ from: low, to: high }, 1);
  const expected = linked.count(low, high);
  if (total < expected) return { suspects, finding: finding('EVENT_NOT_LISTED') };
  if (total === expected) return { suspects };
  // More are listed than linked: halve the period until its events fit into a page.
  while (total > pageSize && low < high) {
    const middle = Math.floor((low + high) / 2);
    const earlier = (await evidence.listed({ from: low, to: middle }, 1)).total;
    if (earlier > linked.count(low, middle)) [high, total] = [middle, earlier];
    else [low, total] = [middle + 1, total - earlier];
  }
  const { events } = await evidence.listed({ from: low, to: high }, pageSize);
  return { suspects: [...suspects, ...events.filter((event) => !linked.has(event))] };
}

/** The list has no events from before retention, by the clock of the server. */
async function startOf(evidence: Pick<Evidence, 'listed'>, now: number): Promise<number> {
  const start = now - retentionMs + skewMs;
  try {
    await evidence.listed({ from: start, to: start }, 1);
    return start;
  } catch (error) {
    const oldest = Date.parse(String((error as { details?: { oldest?: unknown } }).details?.oldest));
    if (Number.isNaN(oldest)) throw error;
    return oldest + skewMs;
  }
}
