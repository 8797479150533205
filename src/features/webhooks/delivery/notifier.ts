/**
 * Notifies the workers of every process about new deliveries, after the commit of the event and throttled. Not in its transaction:
 * PostgreSQL serializes all commits with a NOTIFY in the cluster until they are on disk. A notification that is lost, by a crash
 * or while the database is unavailable, only delays: workers also poll.
 */

import type { Log } from '../../../kernel/observability/log.ts';
import type { Envelope } from '../../../kernel/ports/envelope.ts';

/** New deliveries may exist for events of these types in these organizations. */
export interface NewDeliveries {
  readonly organizationIds: Set<string>;
  readonly types: Set<string>;
}

/** Returns at once. Events that arrive before the throttle opens share a notification. */
export type NotifyWorkers = (envelopes: readonly Envelope[]) => void;

export function createNotifier(deps: {
  log: Log;
  notify(batch: NewDeliveries): Promise<unknown>;
  throttle(): Promise<void>;
}): NotifyWorkers {
  const { log, notify, throttle } = deps;
  const empty = (): NewDeliveries => ({ organizationIds: new Set(), types: new Set() });
  let pending = empty();
  let running = false;

  const run = async () => {
    running = true;
    while (pending.types.size > 0) {
      await throttle();
      const batch = pending;
      pending = empty();
      await notify(batch).catch((error) =>
        log.debug({ err: error }, 'workers not notified of new deliveries; they find them by polling'),
      );
    }
    running = false;
  };

  return (envelopes) => {
    for (const { organizationId, type } of envelopes) {
      pending.organizationIds.add(organizationId);
      pending.types.add(type);
    }
    if (!running) void run();
  };
}
