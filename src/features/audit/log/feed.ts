/**
 * The feed: the events of an organization in the order of their links. Links are appended by one sequencer at a time, so a reader
 * that remembers a position misses no later event and gets none twice, also events of transactions that were open for long.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { createBatcher } from '../../../kernel/concurrency/batcher.ts';
import type { Db } from '../../../kernel/data/db.ts';
import { newestAnchor } from '../chain/checkpoints-store.ts';
import type { Sequencer } from '../chain/sequencer.ts';
import { unverifiedClaims } from '../chain/statements.ts';
import type { AuditFeed, FeedPosition } from '../deps.ts';
import type { AuditEvent } from '../schema.ts';
import { type FeedRow, findEnds, readAfter } from './feed-store.ts';
import { withinRetention } from './period.ts';

/** One batch at a time: each waits for the sequencer's lock. */
const endLimits = { maxBatch: 100, concurrency: 1, maxQueue: 1_000 } as const;

export function createFeed(deps: { db: Db; clock: Clock; sequencer: Pick<Sequencer, 'pass'> }): AuditFeed {
  const { db, clock, sequencer } = deps;

  /** Retention may have dropped all links of a chain; its anchor has the number of the last. */
  const endAtAnchor = async (organizationId: string): Promise<FeedPosition> => {
    const anchor = await newestAnchor(db, organizationId);
    const size = anchor && unverifiedClaims('anchor', anchor.signed)?.checkpoint?.size;
    return { sequence: size ?? 0 };
  };

  const end = createBatcher<string, FeedPosition>({
    ...endLimits,
    async run(organizationIds) {
      // An aborted signal: one batch of the backlog, however long it is.
      await sequencer.pass(AbortSignal.abort());
      const ends = new Map<string, FeedPosition>();
      for (const { organizationId, sequence, day } of await findEnds(db, [...new Set(organizationIds)]))
        ends.set(organizationId, { sequence, day });
      return Promise.all(organizationIds.map(async (id) => ends.get(id) ?? endAtAnchor(id)));
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
