/** The events on display, for verification: each must say the same as the chain. */
import type { AuditEvent } from '../../api/generated.ts';

let shown: readonly AuditEvent[] = [];

export const rememberShown = (events: readonly AuditEvent[]): void => {
  shown = events;
};

export const shownEvents = (): readonly AuditEvent[] => shown;
