import type { Loop } from '../../kernel/loops.ts';
import type { BillingDeps } from './feature.ts';
import { deleteOldSessions } from './sessions-store.ts';
import { deleteOldEvents } from './store.ts';

const dayMs = 24 * 3_600_000;
/** A provider can send an event again for a month; what comes later still is late anyway. */
const eventsKeptMs = 90 * dayMs;
const sessionsKeptMs = 7 * dayMs;

export const billingLoops = ({ db, clock }: Pick<BillingDeps, 'db' | 'clock'>): Loop[] => [
  {
    name: 'billing-forget',
    everyMs: 3_600_000,
    async run() {
      const before = (ms: number) => new Date(clock.now() - ms).toISOString();
      await deleteOldEvents(db, before(eventsKeptMs));
      await deleteOldSessions(db, before(sessionsKeptMs));
    },
  },
];
