/**
 * The stretch of time that a question about the log is about: what was asked, within what is kept. Days are those of UTC; a
 * date without a time means the whole day, and a time without a zone is UTC.
 */
import { limits } from '../../../contract/limits.ts';
import { ApiError } from '../../../kernel/fail.ts';
import { type FieldProblem, validationError } from '../../../kernel/http/input/validation.ts';

export interface Asked {
  readonly fromDate?: string | undefined;
  readonly toDate?: string | undefined;
}

/** Both ends belong to it, in milliseconds. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

const dayMs = 86_400_000;
const retentionMs = limits.auditRetentionDays * dayMs;
/** Who asks for exactly the last 90 days has worked that out a moment ago, by a clock of its own. */
const graceMs = 60_000;
/** As far as SQL and ISO 8601 write time alike. */
const earliest = Date.parse('0001-01-01T00:00:00Z');
const latest = Date.parse('9999-12-31T23:59:59.999Z');

/** For arithmetic at either end. */
export const withinTime = (time: number): number => Math.min(Math.max(time, earliest), latest);

/** What is older is gone, even where its partition is still there. */
export const oldestKept = (now: number): number => now - retentionMs;

export const withinRetention = (time: number, now: number): boolean =>
  time >= oldestKept(now) && time <= latest;

export function periodAsked(asked: Asked, now: number): Period {
  const { first, last } = readAsked(asked);
  const oldest = oldestKept(now);
  for (const [field, time] of [
    ['fromDate', first && (first.isDay ? first.end : first.start)],
    ['toDate', last?.end],
  ] as const) {
    if (time !== undefined && time < oldest - graceMs) throw retentionExceeded(field, oldest);
  }
  return {
    from: Math.max(first?.start ?? oldest, oldest),
    to: last?.end ?? latest,
  };
}

/** For questions about whatever there is: an end that was not asked for stays open. */
export function openPeriod(asked: Asked): Partial<Period> {
  const { first, last } = readAsked(asked);
  return { ...(first && { from: first.start }), ...(last && { to: last.end }) };
}

function readAsked({ fromDate, toDate }: Asked) {
  const problems: FieldProblem[] = [];
  const read = (field: string, text: string | undefined) => {
    if (text === undefined) return undefined;
    const time = timeIn(text);
    if (time === undefined) {
      const message = 'must be an ISO 8601 date or time, such as 2030-01-31T12:00:00Z';
      problems.push({ in: 'query', field, message });
    }
    return time;
  };
  const first = read('fromDate', fromDate);
  const last = read('toDate', toDate);
  if (first && last && first.start > last.end) {
    problems.push({ in: 'query', field: 'fromDate', message: 'must not be after toDate' });
  }
  if (problems.length > 0) throw validationError('query', problems);
  return { first, last };
}

const retentionExceeded = (field: string, oldest: number) =>
  new ApiError('RETENTION_WINDOW_EXCEEDED', {
    details: { field, oldest: new Date(oldest).toISOString(), retentionDays: limits.auditRetentionDays },
  });

/** A `+` that nobody has encoded arrives as a space. */
const written =
  /^(\d{4}-\d\d-\d\d)(?:(T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:Z|([+ -])(\d\d)(?::?(\d\d))?)?)?$/;

function timeIn(text: string): { start: number; end: number; isDay: boolean } | undefined {
  const [, day, time, sign, hours, minutes = '00'] = written.exec(text) ?? [];
  if (day === undefined) return undefined;
  const midnight = Date.parse(day);
  // The 31st of April would be read as the 1st of May.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) return undefined;
  const zone = sign === undefined ? 'Z' : `${sign === '-' ? '-' : '+'}${hours}:${minutes}`;
  const moment = time === undefined ? midnight : Date.parse(`${day}${time}${zone}`);
  if (Number.isNaN(moment)) return undefined;
  const isDay = time === undefined;
  return { start: withinTime(moment), end: withinTime(isDay ? midnight + dayMs - 1 : moment), isDay };
}
