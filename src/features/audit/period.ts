/**
 * The period of a query: `fromDate` and `toDate`, limited by retention. Days are days of UTC. A date without a time means
 * the whole day, and a time without a zone is UTC.
 */
import { limits } from '../../contract/limits.ts';
import { ApiError } from '../../kernel/fail.ts';
import { type FieldProblem, validationError } from '../../kernel/http/input/validation.ts';

export interface PeriodQuery {
  readonly fromDate?: string | undefined;
  readonly toDate?: string | undefined;
}

/** In milliseconds, both ends included. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

const dayMs = 86_400_000;
const retentionMs = limits.auditRetentionDays * dayMs;
/** A client that asks for exactly the last 90 days computed the date a moment ago, by its own clock. */
const graceMs = 60_000;
/** Within these, SQL and ISO 8601 spell times alike. */
const earliest = Date.parse('0001-01-01T00:00:00Z');
const latest = Date.parse('9999-12-31T23:59:59.999Z');

export const isWithin = ({ from, to }: Period, time: number): boolean => time >= from && time <= to;

/** Clamps the result of date arithmetic. */
export const clampTime = (time: number): number => Math.min(Math.max(time, earliest), latest);

/** Older events are not shown, even while their partition exists. */
const oldestRetained = (now: number): number => now - retentionMs;

export const withinRetention = (time: number, now: number): boolean =>
  time >= oldestRetained(now) && time <= latest;

export function periodOf(
  query: PeriodQuery,
  now: number,
  { hasArchive }: { readonly hasArchive: boolean },
): Period {
  const { first, last } = parseQuery(query);
  const oldest = oldestRetained(now);
  for (const [field, time] of [
    ['fromDate', first && (first.isDay ? first.end : first.start)],
    ['toDate', last?.end],
  ] as const) {
    if (time !== undefined && time < oldest - graceMs) throw retentionExceeded(field, oldest, hasArchive);
  }
  return {
    from: Math.max(first?.start ?? oldest, oldest),
    to: last?.end ?? latest,
  };
}

/** Without the limit of retention; an end that is not given stays open. */
export function openPeriod(query: PeriodQuery): Partial<Period> {
  const { first, last } = parseQuery(query);
  return { ...(first && { from: first.start }), ...(last && { to: last.end }) };
}

function parseQuery({ fromDate, toDate }: PeriodQuery) {
  const problems: FieldProblem[] = [];
  const read = (field: string, text: string | undefined) => {
    if (text === undefined) return undefined;
    const time = parseTime(text);
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

const retentionExceeded = (field: string, oldest: number, hasArchive: boolean) =>
  new ApiError('RETENTION_WINDOW_EXCEEDED', {
    ...(hasArchive && {
      message:
        'Audit events older than 90 days are not kept here; the archive has them, a file for each day.',
    }),
    details: {
      field,
      oldest: new Date(oldest).toISOString(),
      retentionDays: limits.auditRetentionDays,
      ...(hasArchive && { archive: '/api/v1/audit/archives' }),
    },
  });

/** A `+` that the client did not percent-encode arrives as a space. */
const datePattern =
  /^(\d{4}-\d\d-\d\d)(?:(T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:Z|([+ -])(\d\d)(?::?(\d\d))?)?)?$/;

function parseTime(text: string): { start: number; end: number; isDay: boolean } | undefined {
  const [, day, time, sign, hours, minutes = '00'] = datePattern.exec(text) ?? [];
  if (day === undefined) return undefined;
  const midnight = Date.parse(day);
  // The 31st of April would be read as the 1st of May.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) return undefined;
  const zone = sign === undefined ? 'Z' : `${sign === '-' ? '-' : '+'}${hours}:${minutes}`;
  const moment = time === undefined ? midnight : Date.parse(`${day}${time}${zone}`);
  if (Number.isNaN(moment)) return undefined;
  const isDay = time === undefined;
  return { start: clampTime(moment), end: clampTime(isDay ? midnight + dayMs - 1 : moment), isDay };
}
