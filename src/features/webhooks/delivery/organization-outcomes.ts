/**
 * For each organization the outcome of its newest attempt, for an hour: it shows whether the receivers of one organization fail, or those
 * of many. In the memory of one process; the figures have no organization as label.
 */
import type { Clock } from '../../../kernel/clock.ts';

export const outcomeAgeMs = 3_600_000;

type OrganizationOutcome = 'delivered' | 'failed';

interface OrganizationOutcomes {
  record(organizationId: string, outcome: OrganizationOutcome): void;
  /** How many organizations have this outcome. */
  count(outcome: OrganizationOutcome): number;
}

export function createOrganizationOutcomes({ now }: Clock): OrganizationOutcomes {
  /** The oldest first. */
  const newest = new Map<string, { readonly outcome: OrganizationOutcome; readonly at: number }>();

  const dropOld = () => {
    for (const [organizationId, { at }] of newest) {
      if (now() - at < outcomeAgeMs) return;
      newest.delete(organizationId);
    }
  };

  return {
    record(organizationId, outcome) {
      dropOld();
      newest.delete(organizationId);
      newest.set(organizationId, { outcome, at: now() });
    },
    count(outcome) {
      dropOld();
      return newest.values().reduce((sum, each) => sum + (each.outcome === outcome ? 1 : 0), 0);
    },
  };
}
