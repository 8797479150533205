/** A broken chain is shown by the gauge as long as it is broken, and logged once, loudly. */
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';

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
  /** Whether something is wrong with this organization's chain or the keys; with anything at all, when none is named. */
  isRaised(organizationId?: string): boolean;
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
    isRaised: (organizationId) =>
      organizationId === undefined ? broken.size > 0 : broken.has(organizationId) || broken.has(undefined),
  };
}
