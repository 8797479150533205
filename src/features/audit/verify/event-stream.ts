/**
 * The events of one organization as a stream in the order of time, from which links take theirs. Links are in nearly the
 * same order, so little has to be kept; when much has, something is odd, and the reader is told to look row by row.
 */
import type { Tx } from '../../../kernel/data/db.ts';
import { millisecondsOf } from '../chain/hashes.ts';
import { type EventBundle, type EventCursor, readEventBundle, separator } from './evidence-store.ts';

export interface EventStream {
  /**
   * Reads on until all events up to the latest time are there, at first from the earliest on. False when they cannot be had
   * this way.
   */
  reach(times: Times): Promise<boolean>;
  /** The text to hash of the event with this id and time; each is given out once. */
  take(key: string): string | undefined;
  /** Lets a page come while the reader is busy. */
  readAhead(): void;
  close(): Promise<void>;
}

/** In microseconds since 2000, as 16 hexadecimal digits. */
export interface Times {
  readonly earliest: string;
  readonly latest: string;
}

const pageSize = 1_000;
const keptAtMost = 50_000;
const keyLength = 48;

interface Page {
  readonly keys: string;
  readonly texts: readonly string[];
}

export function createEventStream(tx: Tx, organizationId: string): EventStream {
  const pages: Page[] = [];
  /** How far the first page has been given out. */
  let next = 0;
  /** Whose turn was not yet. */
  const skipped = new Map<string, string>();
  let kept = 0;
  let cursor: EventCursor | undefined;
  let reached = '';
  let ended = false;
  let failed = false;
  let coming: Promise<EventBundle> | undefined;

  const readAhead = () => {
    if (!cursor || ended || failed || coming) return;
    coming = readEventBundle(tx, organizationId, cursor, pageSize);
    coming.catch(() => {});
  };

  const keep = ({ events, agrees, keys, texts: joined, lastTime }: EventBundle) => {
    ended = events < pageSize;
    if (events === 0) return;
    const texts = joined?.split(separator) ?? [];
    if (agrees !== true || texts.length !== events || keys === null || lastTime === null) {
      failed = true;
      return;
    }
    pages.push({ keys, texts });
    kept += events;
    failed = kept > keptAtMost;
    const last = keys.slice(-keyLength);
    reached = last.slice(32);
    cursor = { time: lastTime, eventId: last.slice(0, 32) };
  };

  /** The next in the order of time, whichever it is. */
  const follow = (key: string): string | undefined => {
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
    async reach({ earliest, latest }) {
      cursor ??= { time: isoOf(earliest), eventId: '00000000-0000-0000-0000-000000000000' };
      while (!ended && !failed && reached <= latest) {
        readAhead();
        const page = (await coming) as EventBundle;
        coming = undefined;
        keep(page);
      }
      return !failed;
    },
    take(key) {
      const text = skipped.get(key) ?? follow(key);
      if (text === undefined) return undefined;
      skipped.delete(key);
      kept -= 1;
      return text;
    },
    close: async () => void (await coming?.catch(() => {})),
  };
}

/** Times before 2000 come as ffff…, infinity as 7fff…, and no Date is so far off: none of these is a place to begin at. */
function isoOf(time: string): string {
  const at = millisecondsOf(time);
  return at < Date.UTC(3000, 0, 1) ? new Date(at).toISOString() : '-infinity';
}
