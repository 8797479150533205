/** Validates the request of a replay: the statuses, and the period in which the deliveries were created. */
import { limits } from '../../../contract/limits.ts';
import { type FieldProblem, validationError } from '../../../kernel/http/input/validation.ts';
import type { ReplayRequest, replayableStatuses } from '../schema.ts';

export interface ReplayFilter {
  readonly statuses: readonly (typeof replayableStatuses)[number][];
  /** Both ends are included. */
  readonly since: string;
  readonly until: string;
}

const retentionMs = limits.webhookRetentionDays * 86_400_000;
/** A client that asks for exactly the last 30 days computed the date a moment ago, by its own clock. */
const graceMs = 60_000;

export function replayFilterOf(request: ReplayRequest, now: number): ReplayFilter {
  const problems: FieldProblem[] = [];
  const refuse = (field: string, message: string) => problems.push({ in: 'body', field, message });
  const read = (field: 'since' | 'until', text: string) => {
    const time = Date.parse(text);
    if (Number.isNaN(time)) refuse(field, 'must be a real time, such as 2030-01-31T12:00:00Z');
    return time;
  };
  const since = read('since', request.since);
  const until = request.until === undefined ? now : read('until', request.until);
  if (since < now - retentionMs - graceMs)
    refuse(
      'since',
      `must not be older than ${limits.webhookRetentionDays} days: deliveries are kept that long`,
    );
  if (until < since)
    refuse(
      request.until === undefined ? 'since' : 'until',
      request.until === undefined ? 'must not be in the future' : 'must not be before since',
    );
  if (problems.length > 0) throw validationError('body', problems);
  return {
    statuses: request.status ? [request.status] : ['failed', 'dead_letter'],
    since: new Date(since).toISOString(),
    // Deliveries that are created later are not part of the count.
    until: new Date(Math.min(until, now)).toISOString(),
  };
}
