/**
 * The events of one organization as a stream in the order of time, from which links take theirs. Links are in nearly the
 * same order, so little has to be kept; when much has, something is odd, and the reader is told to look row by row.
 */
import type { Tx } from '../../kernel/db.ts';
import { type EventBundle, type EventCursor, readEventBundle, separator } from './evidence-store.ts';

export interface EventStream {
  /** Reads on until all events up to that time (16 hexadecimal digits) are there. False when they cannot be had this way. */
  reach(time: string): Promise<boolean>;
  /** The text to hash of the event with this id and time; each is given out once. */
  take(key: string): string | undefined;
  /** Lets a page come while the reader is busy. */
  readAhead(): void;
  close(): Promise<void>;
}

const pageSize = 2_500;
const keptAtMost = 50_000;
const keyLength = 48;

export function createEventStream(tx: Tx, organizationId: string, since: string): EventStream {
  const kept = new Map<string, string>();
  let cursor: EventCursor = { time: since, eventId: '00000000-0000-0000-0000-000000000000' };
  let reached = '';
  let ended = false;
  let failed = false;
  let coming: Promise<EventBundle> | undefined;

  const readAhead = () => {
    if (ended || failed || coming) return;
    coming = readEventBundle(tx, organizationId, cursor, pageSize);
    coming.catch(() => {});
  };

  const keep = ({ events, agrees, keys, texts, lastTime }: EventBundle) => {
    ended = events < pageSize;
    if (events === 0) return;
    const each = texts?.split(separator) ?? [];
    if (agrees !== true || each.length !== events || keys === null || lastTime === null) {
      failed = true;
      return;
    }
    for (let index = 0; index < events; index += 1)
      kept.set(keys.slice(index * keyLength, (index + 1) * keyLength), each[index] as string);
    const last = keys.slice(-keyLength);
    reached = last.slice(32);
    cursor = { time: lastTime, eventId: last.slice(0, 32) };
    failed = kept.size > keptAtMost;
  };

  return {
    readAhead,
    async reach(time) {
      while (!ended && !failed && reached <= time) {
        readAhead();
        const page = (await coming) as EventBundle;
        coming = undefined;
        keep(page);
      }
      return !failed;
    },
    take(key) {
      const text = kept.get(key);
      kept.delete(key);
      return text;
    },
    close: async () => void (await coming?.catch(() => {})),
  };
}
