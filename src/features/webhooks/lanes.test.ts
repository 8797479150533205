import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLanes } from './lanes.ts';
import type { Job } from './queue-store.ts';

let jobs = 0;
const jobFor = (subscriptionId: string, failing = false): Job => {
  jobs += 1;
  return {
    deliveryId: String(jobs),
    subscriptionId,
    organizationId: `of ${subscriptionId}`,
    agentId: 'a',
    eventType: 'agent.created',
    payload: '{}',
    attemptCount: 0,
    url: 'https://receiver.example/',
    sealedSecret: '',
    failing,
    claim: 'c',
    claimedUntil: 0,
  };
};
const many = (count: number, subscriptionId: string, failing = false) =>
  Array.from({ length: count }, () => jobFor(subscriptionId, failing));

type Lanes = ReturnType<typeof createLanes>;
const supply = (lanes: Lanes, brought: Job[], now = 0) => lanes.supply(lanes.want(), brought, now);
const finish = (lanes: Lanes, job: Job, now = 0) => {
  lanes.sent(job);
  return lanes.settled(job, now);
};

describe('lanes', () => {
  it('let so many be under way for each receiver, and the next as soon as one is sent', () => {
    const lanes = createLanes(3);
    supply(lanes, [...many(10, 'a'), ...many(2, 'b')]);
    const begun = [...lanes.next()];
    assert.deepEqual(
      begun.map(({ subscriptionId }) => subscriptionId),
      ['a', 'a', 'a', 'b', 'b'],
    );
    assert.deepEqual([...lanes.next()], []);
    lanes.sent(begun[0] as Job);
    assert.equal([...lanes.next()].length, 1);
  });

  it('hold no more than a process should, and leave room for those who do not fail', () => {
    const lanes = createLanes(50);
    assert.equal(lanes.want().room, 1_600);
    supply(lanes, [...many(400, 'a'), ...many(400, 'b'), ...many(400, 'c'), ...many(390, 'd')]);
    assert.equal(lanes.want().room, 10);
    assert.equal([...lanes.next()].length, 200);
    const ofOne = createLanes(50);
    supply(
      ofOne,
      [...many(100, 'a'), ...many(100, 'b')].map((job) => ({ ...job, organizationId: 'one' })),
    );
    assert.equal([...ofOne.next()].length, 50, 'whatever the number of its receivers');
    supply(ofOne, many(1, 'another'));
    assert.equal([...ofOne.next()].length, 1);

    const failing = createLanes(5);
    supply(
      failing,
      Array.from({ length: 100 }, (_, index) => jobFor(`dead-${index}`, true)),
    );
    const { room, failingRoom } = failing.want();
    assert.deepEqual([room, failingRoom], [1_500, 0]);
    const [first] = failing.next();
    assert.equal(finish(failing, first as Job), true);
    assert.equal(failing.want().failingRoom, 1);
  });

  it('ask for more when a lane runs low that may have more, not when it is known to be empty', () => {
    const lanes = createLanes(2);
    supply(lanes, many(8, 'a'));
    const [first] = lanes.next();
    assert.equal(finish(lanes, first as Job), false, 'enough is waiting');
    for (const job of lanes.next()) finish(lanes, job);
    assert.deepEqual(
      lanes.want().lanes.map(({ id, held }) => [id, held]),
      [['a', 0]],
    );

    supply(lanes, many(3, 'b'));
    for (const job of lanes.next())
      assert.equal(finish(lanes, job), false, 'it brought less than was wanted');
    assert.ok(!lanes.want().lanes.some(({ id }) => id === 'b'), 'and is forgotten');
  });

  it('supply a quick receiver with more, a slow one with less', () => {
    const lanes = createLanes(2);
    const roomAfter = (took: number) => {
      const { room = 8 } = lanes.want().lanes.find(({ id }) => id === 'a') ?? {};
      supply(lanes, many(room, 'a'), 0);
      for (const job of lanes.next()) finish(lanes, job, took);
      return lanes.want().lanes[0]?.room ?? 0;
    };
    const quick = roomAfter(100);
    assert.ok(quick > 8, `${quick}`);
    const slow = roomAfter(5_000);
    assert.ok(slow < quick && slow >= 2, `${slow}`);
  });

  it('give back what was not begun, of one receiver or of all', () => {
    const lanes = createLanes(1);
    supply(lanes, [...many(3, 'a'), ...many(3, 'b')]);
    assert.equal([...lanes.next()].length, 2);
    assert.equal(lanes.unload('a').length, 2);
    assert.equal(lanes.unload().length, 2);
    assert.equal(lanes.want().room, 1_598);
  });
});
