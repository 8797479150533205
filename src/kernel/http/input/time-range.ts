/** The time range of a list: `since` and `until`. */
import type { TimeRange } from '../../data/time-range.ts';
import { type FieldProblem, validationError } from './validation.ts';

interface TimeRangeQuery {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Within these, SQL and ISO 8601 spell times alike. */
const earliest = 0;
const latest = Date.parse('9999-12-31T23:59:59.999Z');

export const notATime = 'must be a real time, such as 2030-01-31T12:00:00Z';

export function timeRangeOf(query: TimeRangeQuery): TimeRange {
  const problems: FieldProblem[] = [];
  const read = (field: 'since' | 'until') => {
    const text = query[field];
    if (text === undefined) return undefined;
    const time = Date.parse(text);
    if (!Number.isNaN(time)) return Math.min(Math.max(time, earliest), latest);
    problems.push({ in: 'query', field, message: notATime });
    return undefined;
  };
  const [since, until] = [read('since'), read('until')];
  if (since !== undefined && until !== undefined && until < since)
    problems.push({ in: 'query', field: 'until', message: 'must not be before since' });
  if (problems.length > 0) throw validationError('query', problems);
  return { since: isoOf(since), until: isoOf(until) };
}

const isoOf = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString();
