/**
 * Tells workers in every process that something was put down. Not in the transaction of the event: PostgreSQL lets one
 * transaction at a time commit with a notification, in the whole cluster, until it is on disk. What is lost when a process dies
 * in between, or the database is away, workers find by looking.
 */

import type { Log } from '../../kernel/observability/log.ts';
import type { Envelope } from '../../kernel/ports/envelope.ts';

export interface News {
  readonly organizationIds: Set<string>;
  readonly types: Set<string>;
}

/** Never waits. What happens until the next turn is announced together. */
export type Announcer = (envelopes: readonly Envelope[]) => void;

export function createAnnouncer(deps: {
  log: Log;
  announce(news: News): Promise<unknown>;
  /** Answers when something may be announced again. */
  turn(): Promise<void>;
}): Announcer {
  const { log, announce, turn } = deps;
  const nothing = (): News => ({ organizationIds: new Set(), types: new Set() });
  let gathered = nothing();
  let working = false;

  const work = async () => {
    working = true;
    while (gathered.types.size > 0) {
      await turn();
      const news = gathered;
      gathered = nothing();
      await announce(news).catch((error) =>
        log.debug({ err: error }, 'deliveries could not be announced; workers find them by looking'),
      );
    }
    working = false;
  };

  return (envelopes) => {
    for (const { organizationId, type } of envelopes) {
      gathered.organizationIds.add(organizationId);
      gathered.types.add(type);
    }
    if (!working) void work();
  };
}
