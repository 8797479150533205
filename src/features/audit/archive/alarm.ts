/** The alarm of the archive: one log line per reason, and a metric of each failure. It remembers when a failed day is tried again. */
import type { Clock } from '../../../kernel/clock.ts';
import type { Log } from '../../../kernel/observability/log.ts';
import type { Metrics } from '../../../kernel/observability/metrics.ts';
import { ArchiveFault, type FaultCause } from './fault.ts';
import type { ArchiveDay } from './names.ts';

export interface Alarm {
  /** A failed day waits longer after each attempt. */
  isDue(day: ArchiveDay): boolean;
  raise(day: ArchiveDay, error: unknown): void;
  clear(day: ArchiveDay): void;
  /** The file of an archived day cannot be read. */
  raiseUnreadable(day: ArchiveDay, fault: ArchiveFault): void;
  clearUnreadable(day: ArchiveDay): void;
  /** Retention keeps days; undefined when it drops them again. */
  raiseKept(reason: string | undefined): void;
}

interface Failure {
  readonly reason: string;
  readonly attempts: number;
  readonly dueAt: number;
}

const firstDelayMs = 60_000;
const maxDelayMs = 3_600_000;

export function createAlarm({
  clock,
  log,
  metrics,
}: {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}): Alarm {
  const failures = new Map<string, Failure>();
  const unreadable = new Map<string, string>();
  let keptReason: string | undefined;
  const count = (cause: FaultCause) => metrics.count('service_audit_archive_failures_total', { cause });
  for (const cause of ['storage', 'content', 'log', 'retention'] as const)
    metrics.counter('service_audit_archive_failures_total', { cause });
  const keyOf = ({ organizationId, day }: ArchiveDay) => `${organizationId} ${day}`;

  return {
    isDue: (day) => (failures.get(keyOf(day))?.dueAt ?? 0) <= clock.now(),
    raise(day, error) {
      const cause = error instanceof ArchiveFault ? error.cause : 'log';
      const reason = (error as Error).message;
      const before = failures.get(keyOf(day));
      const attempts = (before?.attempts ?? 0) + 1;
      const delay = Math.min(maxDelayMs, firstDelayMs * 2 ** (attempts - 1));
      failures.set(keyOf(day), { reason, attempts, dueAt: clock.now() + delay });
      count(cause);
      if (reason === before?.reason) return;
      log.error(
        {
          organizationId: day.organizationId,
          date: day.day,
          cause,
          reason,
          ...(!(error instanceof ArchiveFault) && { err: error }),
        },
        'a day of the audit log is not archived; its events stay in the database, and it is tried again',
      );
    },
    clear(day) {
      if (!failures.delete(keyOf(day))) return;
      log.info(
        { organizationId: day.organizationId, date: day.day },
        'the day of the audit log is archived now',
      );
    },
    raiseUnreadable(day, { cause, message: reason }) {
      count(cause);
      if (unreadable.get(keyOf(day)) === reason) return;
      unreadable.set(keyOf(day), reason);
      log.error(
        { organizationId: day.organizationId, date: day.day, cause, reason },
        'the archived file of a day cannot be read',
      );
    },
    clearUnreadable: (day) => void unreadable.delete(keyOf(day)),
    raiseKept(reason) {
      if (reason !== undefined) count('retention');
      if (reason !== undefined && reason !== keptReason)
        log.error(
          { reason },
          'audit events past retention stay in the database, because they are not archived',
        );
      keptReason = reason;
    },
  };
}
