import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEndpointScheduler } from './endpoint-scheduler.ts';
import type { Job } from './lease-store.ts';

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
    sealedPreviousSecret: null,
    previousSecretExpiresAt: null,
    failing,
    leaseId: 'c',
    leaseExpiresAt: 0,
  };
};
const many = (count: number, subscriptionId: string, failing = false) =>
  Array.from({ length: count }, () => jobFor(subscriptionId, failing));

type Scheduler = ReturnType<typeof createEndpointScheduler>;
const enqueue = (scheduler: Scheduler, leased: Job[], now = 0) =>
  scheduler.enqueue(scheduler.capacity(), leased, now);
const finish = (scheduler: Scheduler, job: Job, now = 0) => {
  scheduler.sent(job);
  return scheduler.completed(job, now);
};

describe('the endpoint scheduler', () => {
  it('limits the concurrent sends of each endpoint, and starts the next job as soon as one is sent', () => {
    const scheduler = createEndpointScheduler(3);
    enqueue(scheduler, [...many(10, 'a'), ...many(2, 'b')]);
    const started = [...scheduler.next()];
    assert.deepEqual(
      started.map(({ subscriptionId }) => subscriptionId),
      ['a', 'b', 'a', 'b', 'a'],
    );
    assert.deepEqual([...scheduler.next()], []);
    scheduler.sent(started[0] as Job);
    assert.equal([...scheduler.next()].length, 1);
  });

  it('lets organizations take turns, and their endpoints, however many jobs and endpoints one of them has', () => {
    const scheduler = createEndpointScheduler(5);
    const ofOne = (count: number) =>
      Array.from({ length: 50 }, (_, index) => many(count, `a${index}`))
        .flat()
        .map((job) => ({ ...job, organizationId: 'one' }));
    enqueue(scheduler, ofOne(2));
    const startFour = () => {
      const started: Job[] = [];
      for (const job of scheduler.next()) {
        started.push(job);
        if (started.length === 4) break;
      }
      for (const job of started) finish(scheduler, job);
      return started.map(({ subscriptionId }) => subscriptionId);
    };
    const first = [...startFour(), ...startFour()];
    assert.equal(new Set(first).size, 8, 'each endpoint once');
    enqueue(scheduler, [jobFor('victim')]);
    assert.ok(startFour().includes('victim'));
    enqueue(scheduler, [...ofOne(2), jobFor('victim')]);
    assert.ok(startFour().includes('victim'), 'again');
  });

  it('limits the leases and sends of the process, of one organization and of failing endpoints', () => {
    const scheduler = createEndpointScheduler(50);
    assert.equal(scheduler.capacity().capacity, 1_600);
    enqueue(scheduler, [...many(400, 'a'), ...many(400, 'b'), ...many(400, 'c'), ...many(390, 'd')]);
    assert.equal(scheduler.capacity().capacity, 10);
    assert.equal([...scheduler.next()].length, 200);
    const oneOrganization = createEndpointScheduler(50);
    enqueue(
      oneOrganization,
      [...many(100, 'a'), ...many(100, 'b')].map((job) => ({ ...job, organizationId: 'one' })),
    );
    assert.equal([...oneOrganization.next()].length, 50, 'over all its endpoints');
    enqueue(oneOrganization, many(1, 'another'));
    assert.equal([...oneOrganization.next()].length, 1);

    const failing = createEndpointScheduler(5);
    enqueue(
      failing,
      Array.from({ length: 100 }, (_, index) => jobFor(`failing-${index}`, true)),
    );
    const { capacity, failingCapacity } = failing.capacity();
    assert.deepEqual([capacity, failingCapacity], [1_500, 0]);
    const [first] = failing.next();
    assert.equal(finish(failing, first as Job), true);
    assert.equal(failing.capacity().failingCapacity, 1);
  });

  it('asks for more when the queue of an endpoint runs low, unless the database has no more jobs for it', () => {
    const scheduler = createEndpointScheduler(2);
    enqueue(scheduler, many(8, 'a'));
    const [first] = scheduler.next();
    assert.equal(finish(scheduler, first as Job), false, 'enough jobs are queued');
    for (const job of scheduler.next()) finish(scheduler, job);
    assert.deepEqual(
      scheduler.capacity().endpoints.map(({ id, leased }) => [id, leased]),
      [['a', 0]],
    );

    enqueue(scheduler, many(3, 'b'));
    for (const job of scheduler.next())
      assert.equal(finish(scheduler, job), false, 'the lease brought fewer jobs than requested');
    assert.ok(!scheduler.capacity().endpoints.some(({ id }) => id === 'b'), 'the endpoint is removed');
  });

  it('prefetches more for a fast endpoint, less for a slow one', () => {
    const scheduler = createEndpointScheduler(2);
    const capacityAfter = (took: number) => {
      const { capacity = 8 } = scheduler.capacity().endpoints.find(({ id }) => id === 'a') ?? {};
      enqueue(scheduler, many(capacity, 'a'), 0);
      for (const job of scheduler.next()) finish(scheduler, job, took);
      return scheduler.capacity().endpoints[0]?.capacity ?? 0;
    };
    const fast = capacityAfter(100);
    assert.ok(fast > 8, `${fast}`);
    const slow = capacityAfter(5_000);
    assert.ok(slow < fast && slow >= 2, `${slow}`);
  });

  it('removes queued jobs, of one endpoint or of all', () => {
    const scheduler = createEndpointScheduler(1);
    enqueue(scheduler, [...many(3, 'a'), ...many(3, 'b')]);
    assert.equal([...scheduler.next()].length, 2);
    assert.equal(scheduler.removeQueued('a').length, 2);
    assert.equal(scheduler.removeQueued().length, 2);
    assert.equal(scheduler.capacity().capacity, 1_598);
  });
});
