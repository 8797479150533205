/** A broken chain is shown by the gauge as long as it is broken, and logged once, loudly. */
import type { Log } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';

export interface Finding {
  /** None when it concerns the instance's own keys. */
  readonly organizationId?: string | undefined;
  readonly sequence?: number | undefined;
  readonly eventId?: string | undefined;
  readonly problem: string;
}

export interface Alarm {
  raise(finding: Finding): void;
  /** What was wrong with this organization's chain (or with the keys) has been looked at and is right. */
  clear(organizationId: string | undefined): void;
}

export function createAlarm({ log, metrics }: { log: Log; metrics: Metrics }): Alarm {
  const broken = new Map<string | undefined, Finding>();
  const show = () => metrics.gauge('service_audit_chain_integrity', broken.size === 0 ? 1 : 0);

  return {
    raise(finding) {
      const { organizationId } = finding;
      const known = broken.has(organizationId);
      broken.set(organizationId, finding);
      show();
      if (!known)
        log.error({ finding }, 'THE AUDIT LOG IS NOT INTACT: somebody has changed what was recorded');
    },
    clear(organizationId) {
      if (broken.delete(organizationId)) log.warn({ organizationId }, 'the audit log is intact again');
      show();
    },
  };
}
