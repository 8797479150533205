/** Validates the request of a replay: the statuses, and the period in which the deliveries were created. */
import { limits } from '../../../contract/limits.ts';
import { notATime } from '../../../kernel/http/input/time-range.ts';
import { type FieldProblem, validationError } from '../../../kernel/http/input/validation.ts';
import type { ReplayRequest, replayableStatuses } from '../schema.ts';

export interface ReplayFilter {
  readonly statuses: readonly (typeof replayableStatuses)[number][];
  /** Both ends are included. */
  readonly since: string;
  readonly until: string;
}

const retentionMs = limits.webhookRetentionDays * 86_400_000;

export function replayFilterOf(request: ReplayRequest, now: number): ReplayFilter {
  const problems: FieldProblem[] = [];
  const refuse = (field: string, message: string) => problems.push({ in: 'body', field, message });
  const read = (field: 'since' | 'until', text: string) => {
    const time = Date.parse(text);
    if (Number.isNaN(time)) refuse(field, notATime);
    return time;
  };
  const since = read('since', request.since);
  const until = request.until === undefined ? now : read('until', request.until);
  if (until < since)
    refuse(
      request.until === undefined ? 'since' : 'until',
      request.until === undefined ? 'must not be in the future' : 'must not be before since',
    );
  if (problems.length > 0) throw validationError('body', problems);
  return {
    statuses: request.status ? [request.status] : ['failed', 'dead_letter'],
    // Older deliveries are not kept.
    since: new Date(Math.max(since, now - retentionMs)).toISOString(),
    // Deliveries that are created later are not part of the count. PostgreSQL does not read the year 0000.
    until: new Date(Math.min(Math.max(until, 0), now)).toISOString(),
  };
}
