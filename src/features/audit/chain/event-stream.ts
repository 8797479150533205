/**
 * The events of one organization as a stream in the order of time, from which each link takes its event. Links are in
 * nearly the same order, so few events are buffered. When the buffer grows too large, the caller must read row by row.
 */
import type { Queryable } from '../../../kernel/data/db.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import { type EventBundle, type EventCursor, readEventBundle, separator } from './evidence-store.ts';
import { millisecondsOf } from './hashes.ts';

export interface EventStream {
  /** Reads all events through the latest time; the first call starts at the earliest. False when rows must be read instead. */
  readThrough(span: TimeSpan): Promise<boolean>;
  /** Removes the event with this key (`eventKeyIn`) from the buffer and returns its text (`eventText`). */
  take(key: string): string | undefined;
  /** Requests the next page without waiting for it. */
  readAhead(): void;
  close(): Promise<void>;
}

/** In microseconds since 2000, as 16 hexadecimal digits. */
export interface TimeSpan {
  readonly earliest: string;
  readonly latest: string;
}

/** The times of the events of some links. */
export function timeSpanOf(records: readonly string[]): TimeSpan {
  let earliest = 'g';
  let latest = '';
  for (const record of records) {
    const time = record.slice(48, 64);
    if (time > latest) latest = time;
    if (time < earliest) earliest = time;
  }
  return { earliest, latest };
}

const pageSize = 1_000;
const maxBuffered = 50_000;
const keyLength = 48;

interface Page {
  readonly keys: string;
  readonly texts: readonly string[];
}

export function createEventStream(tx: Queryable, organizationId: string): EventStream {
  const pages: Page[] = [];
  /** The index of the next event in the first page. */
  let next = 0;
  /** Events that were read before their link. */
  const skipped = new Map<string, string>();
  let buffered = 0;
  let cursor: EventCursor | undefined;
  let readThroughTime = '';
  let ended = false;
  let failed = false;
  let requested: Promise<EventBundle> | undefined;

  const readAhead = () => {
    if (!cursor || ended || failed || requested) return;
    requested = readEventBundle(tx, organizationId, cursor, pageSize);
    requested.catch(() => {});
  };

  const buffer = ({ events, columnsMatch, keys, texts: joined, lastTime }: EventBundle) => {
    ended = events < pageSize;
    if (events === 0) return;
    const texts = joined?.split(separator) ?? [];
    if (columnsMatch !== true || texts.length !== events || keys === null || lastTime === null) {
      failed = true;
      return;
    }
    pages.push({ keys, texts });
    buffered += events;
    failed = buffered > maxBuffered;
    const last = keys.slice(-keyLength);
    readThroughTime = last.slice(32);
    cursor = { time: lastTime, eventId: last.slice(0, 32) };
  };

  /** Reads on in the order of time, and sets aside the events of later links. */
  const advanceTo = (key: string): string | undefined => {
    for (let page = pages[0]; page; page = pages[0]) {
      while (next < page.texts.length) {
        const at = next * keyLength;
        const text = page.texts[next] as string;
        next += 1;
        if (page.keys.startsWith(key, at)) return text;
        skipped.set(page.keys.slice(at, at + keyLength), text);
      }
      pages.shift();
      next = 0;
    }
    return undefined;
  };

  return {
    readAhead,
    async readThrough({ earliest, latest }) {
      cursor ??= { time: isoOf(earliest), eventId: nilUuid };
      while (!ended && !failed && readThroughTime <= latest) {
        readAhead();
        const page = (await requested) as EventBundle;
        requested = undefined;
        buffer(page);
      }
      return !failed;
    },
    take(key) {
      const before = skipped.size > 0 ? skipped.get(key) : undefined;
      const text = before ?? advanceTo(key);
      if (text === undefined) return undefined;
      if (before !== undefined) skipped.delete(key);
      buffered -= 1;
      return text;
    },
    close: async () => void (await requested?.catch(() => {})),
  };
}

/** Times before 2000 are spelt ffff…, infinity 7fff…. No Date can hold those, so the stream then starts at -infinity. */
function isoOf(time: string): string {
  const at = millisecondsOf(time);
  return at < Date.UTC(3000, 0, 1) ? new Date(at).toISOString() : '-infinity';
}
