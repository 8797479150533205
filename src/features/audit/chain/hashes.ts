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
/** Consecutive events are mostly of one second, and a Date costs more than the rest of a line. */
let lastSecond = Number.NaN;
let textOfLastSecond = '';
/** With microseconds; empty for a time that no Date can hold, which no genuine link has. */
export function timeTextIn(record: string): string {
  const microseconds = Number.parseInt(record.slice(48, 64), 16);
  if (microseconds > maxMicroseconds) return '';
  const rest = microseconds % 1_000_000;
  const second = (microseconds - rest) / 1_000_000;
  if (second !== lastSecond) {
    lastSecond = second;
    textOfLastSecond = new Date(second * 1_000 + year2000).toISOString().slice(0, 20);
  }
  return `${textOfLastSecond}${String(rest).padStart(6, '0')}Z`;
}

const year2000 = Date.UTC(2000, 0, 1);
/** The end of the year 9999 minus some days. */
const maxMicroseconds = (Date.UTC(9999, 11, 1) - year2000) * 1000;

/** The first digits of each seal of this key. */
export const sealTag = (keyId: string): string => sha256(keyId).slice(0, 8);
