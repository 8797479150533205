/** Parses the period of a query: whole days of UTC, both ends included. */
import { limits } from '../../contract/limits.ts';
import { type FieldProblem, validationError } from '../../kernel/http/input/validation.ts';

export interface Period {
  readonly from: string;
  readonly to: string;
}

const dayMs = 86_400_000;

export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);
export const monthOf = (time: number): string => `${dayOf(time).slice(0, 7)}-01`;

/** The months of the figures that are kept, as `monthOf` writes them; the newest first. */
export function keptMonths(now: number): string[] {
  const oldest = monthOf(now - limits.usageRetentionDays * dayMs);
  const months = [monthOf(now)];
  for (let last = months[0] as string; last > oldest; months.push(last))
    last = monthOf(Date.parse(last) - dayMs);
  return months;
}

export function periodOf(query: { from?: string | undefined; to?: string | undefined }, now: number): Period {
  const problems: FieldProblem[] = [];
  const refuse = (field: string, message: string) => problems.push({ in: 'query', field, message });
  const read = (field: 'from' | 'to') => {
    const text = query[field];
    const day = text === undefined ? undefined : parseDay(text);
    if (text !== undefined && day === undefined)
      refuse(field, 'must be a date such as 2030-01-31, or an ISO 8601 time with its zone');
    return day;
  };
  const requestedFrom = read('from');
  const to = read('to') ?? Date.parse(dayOf(now));
  const from = requestedFrom ?? to - (limits.usageDays.default - 1) * dayMs;
  if (from > to) refuse('from', `must not be after to, which is ${dayOf(to)}`);
  else if (to - from > limits.usageDays.max * dayMs)
    refuse('from', `and to may lie at most ${limits.usageDays.max} days apart`);
  if (problems.length > 0) throw validationError('query', problems);
  return { from: dayOf(from), to: dayOf(to) };
}

const isoDateOrTime = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;
/** Far from the limits of Date and of PostgreSQL, so that date arithmetic cannot overflow. */
const earliest = Date.UTC(1000, 0, 1);
const latest = Date.UTC(9998, 11, 31);

/** Midnight UTC of the day, or undefined for an invalid date. */
function parseDay(text: string): number | undefined {
  const [, day = ''] = isoDateOrTime.exec(text) ?? [];
  const midnight = Date.parse(day);
  // Date.parse reads 31 April as 1 May.
  if (Number.isNaN(midnight) || dayOf(midnight) !== day) return undefined;
  const moment = Date.parse(text);
  if (Number.isNaN(moment) || moment < earliest || moment > latest) return undefined;
  return moment - (((moment % dayMs) + dayMs) % dayMs);
}
