import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import type { AccessCheck } from '../../kernel/http/route.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { createMetrics } from '../../kernel/observability/metrics.ts';
import type { FeedEntry } from '../audit/log/feed.ts';
import { createEventStreams } from './event-streams.ts';

const log = createLog({ level: 'silent' });
const organizationId = '00000000-0000-7000-8000-000000000001';

/** A log in memory. */
function createFakeFeed() {
  const entries: FeedEntry[] = [];
  let reads = 0;
  return {
    reads: () => reads,
    append(count: number, action = 'agent.created') {
      for (let added = 0; added < count; added += 1) {
        const sequence = entries.length + 1;
        entries.push({
          organizationId,
          sequence,
          day: '2030-01-01',
          event: { action } as FeedEntry['event'],
        });
      }
    },
    size: () => entries.length,
    end: async () => ({ sequence: entries.length }),
    async read(positions: readonly { sequence: number }[], limit: number) {
      reads += 1;
      return positions.flatMap(({ sequence }) => entries.slice(sequence, sequence + limit));
    },
  };
}

async function follow(
  feed: ReturnType<typeof createFakeFeed>,
  start: number,
  recheckAccess = async (): Promise<AccessCheck> => 'allowed',
) {
  const streams = createEventStreams({ feed, log, metrics: createMetrics() });
  const ended = new AbortController();
  const text = streams.follow({
    organizationId,
    start: { sequence: start },
    end: await feed.end(),
    matches: () => true,
    ended: ended.signal,
    recheckAccess,
  });
  return { streams, ended, text: text[Symbol.asyncIterator]() };
}

const sequencesIn = (text: string): number[] =>
  [...text.matchAll(/^id: [0-9a-f]{12}-(\d+)\nevent:/gm)].map((match) => Number(match[1]));

describe('event streams', () => {
  it('a stream gets each event once and in order, for any interleaving of events, polls and a slow client', async () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ append: fc.integer({ min: 1, max: 450 }) }),
        fc.constant({ poll: true as const }),
        fc.constant({ check: true as const }),
        fc.constant({ pull: true as const }),
      ),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(300), fc.nat(300), async (sequence, before, behind) => {
        const feed = createFakeFeed();
        feed.append(before);
        const start = Math.max(0, before - behind);
        const { streams, text, ended } = await follow(feed, start);
        let received = '';
        let isPulling = false;
        const pull = () => {
          if (isPulling) return;
          isPulling = true;
          void text.next().then(({ value }) => {
            received += value ?? '';
            isPulling = false;
          });
        };
        for (const step of sequence) {
          if ('append' in step) feed.append(step.append);
          else if ('poll' in step) await streams.poll();
          else if ('check' in step) await streams.checkAccess();
          else pull();
          await turn();
        }
        while (await streams.poll());
        await streams.poll();
        for (let idle = 0; idle < 3; ) {
          const length = received.length;
          pull();
          await turn();
          await turn();
          idle = received.length === length ? idle + 1 : 0;
        }
        ended.abort();
        assert.deepEqual(
          sequencesIn(received),
          Array.from({ length: feed.size() - start }, (_, index) => start + 1 + index),
        );
      }),
      { numRuns: 200 },
    );
  });

  it('streams that keep up share one read for each poll, and without streams there is none', async () => {
    const feed = createFakeFeed();
    const { streams, text, ended } = await follow(feed, 0);
    await text.next();
    const next = text.next();
    feed.append(3);
    await streams.poll();
    assert.deepEqual(sequencesIn(String((await next).value)), [1, 2, 3]);
    assert.equal(feed.reads(), 1);
    ended.abort();
    await streams.poll();
    assert.equal(feed.reads(), 1);
  });

  it('a stream ends when the token cannot be checked, and when events cannot be read', async () => {
    const unchecked = await follow(createFakeFeed(), 0, () => Promise.reject(new Error('unavailable')));
    await unchecked.text.next();
    await unchecked.streams.checkAccess();
    assert.match(String((await unchecked.text.next()).value), /^: the server cannot check/);
    assert.equal((await unchecked.text.next()).done, true);

    const feed = createFakeFeed();
    feed.append(5);
    const unread = await follow({ ...feed, read: () => Promise.reject(new Error('unavailable')) }, 0);
    await unread.text.next();
    assert.match(String((await unread.text.next()).value), /^: the server cannot read/);
    assert.equal((await unread.text.next()).done, true);
  });
});
