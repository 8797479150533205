/**
 * The feed: the events of an organization in the order of their links. Links are appended by one sequencer at a time, so a reader
 * that remembers a position misses no later event and gets none twice, also events of transactions that were open for long.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { createBatcher } from '../../../kernel/concurrency/batcher.ts';
import type { Db } from '../../../kernel/data/db.ts';
import type { Sequencer } from '../chain/sequencer.ts';
import { withinRetention } from '../period.ts';
import type { AuditEvent } from '../schema.ts';
import { type FeedRow, findEnds, readAfter } from './feed-store.ts';

/** A place in the chain of an organization: after the link with this number. The day of that link makes reading cheaper. */
export interface FeedPosition {
  readonly sequence: number;
  readonly day?: string | undefined;
}

export interface FeedEntry extends FeedPosition {
  readonly organizationId: string;
  /** Undefined when the event is past retention. */
  readonly event: AuditEvent | undefined;
}

export interface AuditFeed {
  /** The end of the organization's chain, after the events that were recorded so far are linked. */
  end(organizationId: string): Promise<FeedPosition>;
  /** The entries after each position, at most `limit` for each organization, in the order of their links. */
  read(
    positions: readonly (FeedPosition & { readonly organizationId: string })[],
    limit: number,
  ): Promise<FeedEntry[]>;
}

/** One batch at a time: each waits for the sequencer's lock. */
const endLimits = { maxBatch: 100, concurrency: 1, maxQueue: 1_000 } as const;

export function createFeed(deps: { db: Db; clock: Clock; sequencer: Pick<Sequencer, 'pass'> }): AuditFeed {
  const { db, clock, sequencer } = deps;

  const end = createBatcher<string, FeedPosition>({
    name: 'audit.feed-end',
    ...endLimits,
    key: (organizationId) => organizationId,
    async run(organizationIds) {
      // An aborted signal: one batch of the backlog, however long it is.
      await sequencer.pass(AbortSignal.abort());
      const ends = new Map<string, FeedPosition>();
      for (const { organizationId, sequence, day } of await findEnds(db, [...new Set(organizationIds)]))
        ends.set(organizationId, { sequence, day });
      return organizationIds.map((id) => ends.get(id) ?? { sequence: 0 });
    },
  });

  return {
    end,
    async read(positions, limit) {
      const now = clock.now();
      const rows = await readAfter(db, positions, limit);
      return rows.map(({ organizationId, sequence, day, ...event }) => ({
        organizationId,
        sequence,
        day,
        event: isRetained(event, now) ? (event as AuditEvent) : undefined,
      }));
    },
  };
}

const isRetained = ({ eventId, timestamp }: Pick<FeedRow, 'eventId' | 'timestamp'>, now: number): boolean =>
  eventId !== null && withinRetention(Date.parse(timestamp), now);
