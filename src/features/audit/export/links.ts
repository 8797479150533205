/** Prints links with their events as lines of an export, some at a time. */
import type { Queryable } from '../../../kernel/data/db.ts';
import { printableJson } from '../../../kernel/printable-json.ts';
import { type EventStream, timeSpanOf } from '../chain/event-stream.ts';
import { readLinkedEvents } from '../chain/evidence-store.ts';
import {
  eventHashIn,
  eventIdIn,
  eventKeyIn,
  eventText,
  type linkHash,
  recordAt,
  storedLength,
  timeTextIn,
} from '../chain/hashes.ts';

export interface LinksPlace {
  readonly organizationId: string;
  /** The day of the segment. */
  readonly linkedOn: string;
  /** Of the link before them. */
  readonly sequence: number;
  readonly head: string;
}

export interface EventSource {
  readonly db: Queryable;
  readonly stream: EventStream;
  readonly hashLink: typeof linkHash;
}

/** `stored` are their records as a segment has them. Returns the lines, and the hash of the last link. */
export async function printLinks(
  source: EventSource,
  { organizationId, linkedOn, sequence, head }: LinksPlace,
  stored: string,
): Promise<{ texts: string[]; head: string }> {
  const records = recordsOf(sequence, stored);
  const events = await textsOf(source, organizationId, records);
  const texts: string[] = [];
  let hash = head;
  for (const [index, record] of records.entries()) {
    hash = source.hashLink(hash, record);
    // In the form that the verification reads fastest.
    texts.push(
      `{"kind":"link","organizationId":"${organizationId}","sequence":${sequence + index + 1},` +
        `"eventId":"${uuidIn(record)}","time":"${timeTextIn(record)}","eventHash":"${eventHashIn(record)}",` +
        `"hash":"${hash}","linkedOn":"${linkedOn}","event":${printEvent(events[index])}}`,
    );
  }
  return { texts, head: hash };
}

function recordsOf(after: number, stored: string): string[] {
  const count = Math.floor(stored.length / storedLength);
  return Array.from({ length: count }, (_, index) =>
    recordAt(after + index + 1, stored.slice(index * storedLength, (index + 1) * storedLength)),
  );
}

/** `eventIdIn` for a record of ours, in half the time. */
const uuidIn = (record: string): string =>
  `${record.slice(16, 24)}-${record.slice(24, 28)}-${record.slice(28, 32)}-${record.slice(32, 36)}-${record.slice(36, 48)}`;

/** Null when there is no event. */
function printEvent(text: string | undefined): string {
  if (text === undefined) return 'null';
  const first = text.indexOf(' ');
  const second = text.indexOf(' ', first + 1);
  const canonical = printableJson(text.slice(second + 1));
  return `{"canonical":${canonical},"appendedIn":"${text.slice(0, first)}","seal":"${text.slice(first + 1, second)}"}`;
}

/** The text of each event (`eventText`): from long texts of many events, or else row by row. */
async function textsOf(
  { db, stream }: Pick<EventSource, 'db' | 'stream'>,
  organizationId: string,
  records: readonly string[],
): Promise<readonly (string | undefined)[]> {
  if (await stream.readThrough(timeSpanOf(records))) {
    stream.readAhead();
    const texts = records.map((record) => stream.take(eventKeyIn(record)));
    if (!texts.includes(undefined)) return texts;
  }
  const links = records.map((record) => ({ eventId: eventIdIn(record), time: timeTextIn(record) }));
  const events = await readLinkedEvents(db, organizationId, links);
  return events.map((event) => event && eventText(event));
}
