/** The alarm: the integrity gauge is 0 while a chain is broken, and the log gets one line per broken chain. */
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Finding } from './findings.ts';

export interface AuditStatus {
  readonly intact: boolean;
  /** Null before the first round of the watch in this process. */
  readonly checkedAt: string | null;
}

export interface IntegrityStatus {
  raise(finding: Finding): void;
  /** A full verification of this organization's chain (or, without one, of the keys) found nothing. */
  clear(organizationId: string | undefined): void;
  /** Whether this organization's chain or the keys have a finding; without an organization, whether there is any. */
  isRaised(organizationId?: string): boolean;
  /** A round of the watch ended. */
  markChecked(time: string): void;
  /** What the watch and verifications have found so far, and when the last round of the watch ended. */
  statusOf(organizationId: string): AuditStatus;
}

export function createIntegrityStatus({ log, metrics }: { log: Log; metrics: Metrics }): IntegrityStatus {
  const findings = new Map<string | undefined, Finding>();
  const updateGauge = () => metrics.gauge('service_audit_chain_integrity', findings.size === 0 ? 1 : 0);

  let checkedAt: string | null = null;

  /** A finding without an organization concerns the keys or the tree heads, and so every chain. */
  const isRaised: IntegrityStatus['isRaised'] = (organizationId) =>
    organizationId === undefined
      ? findings.size > 0
      : findings.has(organizationId) || findings.has(undefined);

  return {
    raise(finding) {
      const { organizationId } = finding;
      const isLogged = findings.has(organizationId);
      findings.set(organizationId, finding);
      updateGauge();
      if (!isLogged) log.error({ finding }, 'THE AUDIT LOG IS NOT INTACT: recorded data was changed');
    },
    clear(organizationId) {
      if (findings.delete(organizationId)) log.warn({ organizationId }, 'the audit log is intact again');
      updateGauge();
    },
    isRaised,
    markChecked(time) {
      checkedAt = time;
    },
    statusOf: (organizationId) => ({ intact: !isRaised(organizationId), checkedAt }),
  };
}
