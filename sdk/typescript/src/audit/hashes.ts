/**
 * The hashes of the chain. All are SHA-256 over UTF-8 text, written as lower-case hexadecimal. The server's decision 006 has the
 * formulas.
 */
import { sha256 } from './sha256.ts';

/** The part of an event that is hashed. */
export interface EventText {
  readonly canonical: string;
  /** The transaction that appended the event. */
  readonly appendedIn: string;
  /** In hexadecimal; empty when the row has none. */
  readonly seal: string;
}

export interface Link {
  readonly sequence: number;
  readonly eventId: string;
  /** With microseconds. */
  readonly time: string;
  readonly eventHash: string;
  readonly hash: string;
  readonly linkedOn: string;
}

/** The previous hash of a chain's first link. */
export const firstHash = (organizationId: string): string =>
  sha256(`countersign audit chain of ${organizationId}`);

export const eventHash = (event: EventText): string => sha256(eventText(event));

/** The columns that the canonical text does not have come first. */
export const eventText = ({ appendedIn, seal, canonical }: EventText): string =>
  `${appendedIn} ${seal} ${canonical}`;

/**
 * A link as 128 hexadecimal digits: sequence (16), event id (32), time in microseconds since 2000 (16), hash of the event
 * (64). A segment stores it without the sequence.
 */
export const linkRecord = ({ sequence, eventId, time, eventHash }: Omit<Link, 'hash' | 'linkedOn'>): string =>
  recordAt(sequence, storedRecord(eventId, time, eventHash));

/** The part of a record that a segment stores. */
export const storedRecord = (eventId: string, time: string, eventHash: string): string =>
  digitsOf(eventId) + hex(microsecondsSince2000(time)) + eventHash;

/** The record of a link from the part that a segment stores. */
export const recordAt = (sequence: number, stored: string): string => hex(sequence) + stored;

export const linkHash = (previous: string, record: string): string => sha256(previous + record);

/** In milliseconds since 1970. */
export const timeIn = (record: string): number => millisecondsOf(record.slice(48, 64));
export const eventHashIn = (record: string): string => record.slice(64);
export const eventIdIn = (record: string): string =>
  record.slice(16, 48).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

const year2000 = Date.UTC(2000, 0, 1);

const uuid = /^\w{8}-\w{4}-\w{4}-\w{4}-\w{12}$/;
/** An id without its hyphens. */
const digitsOf = (id: string): string =>
  uuid.test(id)
    ? id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24)
    : id.replaceAll('-', '');

/** In two parts, because V8 converts numbers above 32 bits slowly. */
const hex = (number: number): string =>
  number > 0xffffff && Number.isSafeInteger(number)
    ? Math.floor(number / 0x1000000)
        .toString(16)
        .padStart(10, '0') + (number % 0x1000000).toString(16).padStart(6, '0')
    : number.toString(16).padStart(16, '0');

/** Of this century: microseconds of later ones are no exact numbers. */
const isoTime = /^20\d\d-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d\.\d{6}Z$/;
/** Consecutive events are mostly of one second, and Date.parse costs more than the rest of a record. */
let lastSecond = '';
let startOfLastSecond = Number.NaN;
function microsecondsSince2000(time: string): number {
  if (!isoTime.test(time))
    return (Date.parse(`${time.slice(0, 23)}Z`) - year2000) * 1000 + Number(time.slice(23, 26));
  const second = time.slice(0, 19);
  if (second !== lastSecond) {
    lastSecond = second;
    startOfLastSecond = (Date.parse(`${second}Z`) - year2000) * 1000;
  }
  return startOfLastSecond + Number(time.slice(20, 26));
}

/** The time of a record (16 hexadecimal digits) in milliseconds since 1970. */
export const millisecondsOf = (time: string): number => Number.parseInt(time, 16) / 1000 + year2000;

/** An ISO 8601 time with milliseconds, as SQL writes it. */
export const withMicroseconds = (timestamp: string): string => `${timestamp.slice(0, -1)}000Z`;
