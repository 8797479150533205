/** The hashes of the chain, and the parts of records and seals that only the server reads. */
import type { EventText } from '../../../../sdk/typescript/src/audit/hashes.ts';
import { sha256 } from '../../../../sdk/typescript/src/audit/sha256.ts';

export * from '../../../../sdk/typescript/src/audit/hashes.ts';
export { sha256 } from '../../../../sdk/typescript/src/audit/sha256.ts';

export interface StoredEvent extends EventText {
  readonly eventId: string;
  readonly organizationId: string;
  readonly agentId: string;
  readonly action: string;
  readonly outcome: string;
  readonly ipAddress: string;
  readonly userAgent: string;
  /** The text of the column, not parsed. */
  readonly metadata: string;
  /** With microseconds, which are 0 in each row that the service wrote. */
  readonly time: string;
}

/** The hexadecimal digits of one link in the records of a segment. */
export const storedLength = 112;

/** Event id and time together: the key of an event. */
export const eventKeyIn = (record: string): string => record.slice(16, 64);
/** Consecutive events are mostly of one day, and a Date costs more than the rest of a line. */
let lastDay = Number.NaN;
let textOfLastDay = '';
/** With microseconds; empty for a time that no Date can hold, which no genuine link has. */
export function timeTextIn(record: string): string {
  const microseconds = Number.parseInt(record.slice(48, 64), 16);
  if (microseconds > maxMicroseconds) return '';
  const day = Math.floor(microseconds / microsecondsPerDay);
  if (day !== lastDay) {
    lastDay = day;
    textOfLastDay = new Date(day * dayMs + year2000).toISOString().slice(0, 11);
  }
  const inDay = microseconds - day * microsecondsPerDay;
  const seconds = Math.floor(inDay / 1_000_000);
  const rest = inDay - seconds * 1_000_000;
  const minutes = Math.floor(seconds / 60);
  return (
    `${textOfLastDay}${two[Math.floor(minutes / 60)]}:${two[minutes % 60]}:${two[seconds % 60]}.` +
    `${three[Math.floor(rest / 1_000)]}${three[rest % 1_000]}Z`
  );
}

const dayMs = 86_400_000;
const microsecondsPerDay = dayMs * 1_000;
const decimal = (count: number, length: number) =>
  Array.from({ length: count }, (_, number) => String(number).padStart(length, '0'));
const two = decimal(60, 2);
const three = decimal(1_000, 3);
const year2000 = Date.UTC(2000, 0, 1);
/** The end of the year 9999 minus some days. */
const maxMicroseconds = (Date.UTC(9999, 11, 1) - year2000) * 1000;

/** The first digits of each seal of this key. */
export const sealTag = (keyId: string): string => sha256(keyId).slice(0, 8);
