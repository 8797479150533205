/**
 * The hashes of the chain, for the server and for whoever checks an export elsewhere. All are SHA-256 over UTF-8 text
 * and written as lower-case hexadecimal; docs/decisions/006-audit-chain.md has the formulas.
 */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

const sha256 = (text: string): string => hash('sha256', text);

export interface StoredEvent {
  readonly eventId: string;
  readonly organizationId: string;
  readonly agentId: string;
  readonly action: string;
  readonly outcome: string;
  readonly ipAddress: string;
  readonly userAgent: string;
  /** As they are spelt in the column. */
  readonly metadata: string;
  /** With microseconds, of which an honest row has none. */
  readonly time: string;
  readonly canonical: string;
  /** The transaction, and the seal in hexadecimal (empty for rows from before there were seals). */
  readonly appendedIn: string;
  readonly seal: string;
}

export interface Link {
  readonly sequence: number;
  readonly eventId: string;
  readonly time: string;
  readonly eventHash: string;
  readonly hash: string;
  readonly linkedOn: string;
}

/** What stands in the place of a predecessor before the first link. */
export const firstHash = (organizationId: string): string =>
  sha256(`countersign audit chain of ${organizationId}`);

export const eventHash = (event: Pick<StoredEvent, 'appendedIn' | 'seal' | 'canonical'>): string =>
  sha256(eventText(event));

/** The columns that the canonical text does not have come first. */
export const eventText = ({
  appendedIn,
  seal,
  canonical,
}: Pick<StoredEvent, 'appendedIn' | 'seal' | 'canonical'>): string => `${appendedIn} ${seal} ${canonical}`;

export const hashText = sha256;

/**
 * A link as 128 hexadecimal digits: sequence (16), event id (32), time in microseconds since 2000 (16), hash of the event
 * (64). SQL writes the same.
 */
export const linkRecord = ({ sequence, eventId, time, eventHash }: Omit<Link, 'hash' | 'linkedOn'>): string =>
  hex(sequence) + eventId.replaceAll('-', '') + hex(microsecondsSince2000(time)) + eventHash;

export const linkHash = (previous: string, record: string): string => sha256(previous + record);

const year2000 = Date.UTC(2000, 0, 1);
const hex = (number: number): string => number.toString(16).padStart(16, '0');
const microsecondsSince2000 = (time: string): number =>
  (Date.parse(`${time.slice(0, 23)}Z`) - year2000) * 1000 + Number(time.slice(23, 26));

/** The time in a record, as milliseconds since 1970. */
export const millisecondsOf = (time: string): number => Number.parseInt(time, 16) / 1000 + year2000;

/** As SQL writes it; events have milliseconds. */
export const microseconds = (timestamp: string): string => `${timestamp.slice(0, -1)}000Z`;

/** Which key sealed a row: enough to tell one's own from an earlier one's. */
export const sealTag = (keyId: string): string => sha256(keyId).slice(0, 8);

/** Why the link does not belong behind that hash with that event; undefined when it does. */
export function linkProblem(
  previous: string,
  sequence: number,
  link: Link,
  event: StoredEvent | undefined,
): string | undefined {
  if (link.sequence !== sequence)
    return `link ${sequence} is missing; number ${link.sequence} is in its place`;
  if (linkHash(previous, linkRecord(link)) !== link.hash)
    return 'the link does not follow from the one before it';
  if (event && eventHash(event) !== link.eventHash)
    return 'the text of the event is not what it was when it was linked';
  if (event && event.time !== link.time) return 'the time of the event is not what it was when it was linked';
  return event && columnProblem(event);
}

/** The searchable columns must say what the hashed text says. */
export function columnProblem(event: StoredEvent): string | undefined {
  const { canonical, appendedIn, seal, time, metadata, ...columns } = event;
  if (!time.endsWith('000Z')) return 'the time of the event has microseconds';
  const said = parse(canonical);
  if (typeof said !== 'object' || said === null) return 'the text of the event is not what such a text is';
  const expected = { ...columns, metadata: parse(metadata), timestamp: `${time.slice(0, -4)}Z` };
  const differing = Object.entries(expected).filter(
    ([name, value]) => !isDeepStrictEqual((said as Record<string, unknown>)[name], value),
  );
  if (differing.length === 0 && !canonical.includes(`,"metadata":${metadata},"organizationId":`))
    differing.push(['metadata', metadata]);
  if (differing.length > 0)
    return `columns that do not say what the text says: ${differing.map(([name]) => name).join(', ')}`;
  return isDeepStrictEqual(said, expected) ? undefined : 'the text says more than the columns';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
