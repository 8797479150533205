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

/** `linkRecord` for an id and a time that are known to have the usual form, in half the time. */
export const usualLinkRecord = (sequence: number, eventId: string, time: string, eventHash: string): string =>
  hex(sequence) + digitsOfUuid(eventId) + hex(microsecondsSince2000(time)) + eventHash;

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
const digitsOf = (id: string): string => (uuid.test(id) ? digitsOfUuid(id) : id.replaceAll('-', ''));
const digitsOfUuid = (id: string): string =>
  id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24);

/** Of a number below 2^12 each, because V8 converts numbers to other bases slowly. */
const threeDigits = Array.from({ length: 4_096 }, (_, number) => number.toString(16).padStart(3, '0'));
/** The upper part is mostly that of the number before: that of a time changes after 17 seconds. */
let lastUpper = 0;
let digitsOfLastUpper = '0000000000';
function hex(number: number): string {
  if (!Number.isSafeInteger(number) || number < 0) return number.toString(16).padStart(16, '0');
  const upper = Math.floor(number / 0x1000000);
  const lower = number - upper * 0x1000000;
  const digitsOfLower = `${threeDigits[lower >> 12]}${threeDigits[lower & 0xfff]}`;
  if (upper === 0) return `0000000000${digitsOfLower}`;
  if (upper !== lastUpper) {
    lastUpper = upper;
    digitsOfLastUpper = upper.toString(16).padStart(10, '0');
  }
  return digitsOfLastUpper + digitsOfLower;
}

/** Of this century: microseconds of later ones are no exact numbers. */
const isoTime = /^20\d\d-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/;
/** Consecutive events are mostly of one day, and Date.parse costs more than the rest of a record. */
let lastDay = '';
let startOfLastDay = Number.NaN;
function microsecondsSince2000(time: string): number {
  if (!isoTime.test(time))
    return (Date.parse(`${time.slice(0, 23)}Z`) - year2000) * 1000 + Number(time.slice(23, 26));
  const day = time.slice(0, 10);
  if (day !== lastDay) {
    lastDay = day;
    startOfLastDay = (Date.parse(day) - year2000) * 1000;
  }
  const minutes = 60 * twoDigits(time, 11) + twoDigits(time, 14);
  const seconds = 60 * minutes + twoDigits(time, 17);
  return startOfLastDay + seconds * 1_000_000 + Number(time.slice(20, 26));
}

const twoDigits = (text: string, at: number): number =>
  10 * text.charCodeAt(at) + text.charCodeAt(at + 1) - 528;

/** The time of a record (16 hexadecimal digits) in milliseconds since 1970. */
export const millisecondsOf = (time: string): number => Number.parseInt(time, 16) / 1000 + year2000;

/** An ISO 8601 time with milliseconds, as SQL writes it. */
export const withMicroseconds = (timestamp: string): string => `${timestamp.slice(0, -1)}000Z`;
