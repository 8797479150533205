import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { AggregatorRegistry, Histogram, Registry } from 'prom-client';
import { createFastHistogram } from './fast-metrics.ts';

type Observation = readonly [Record<string, string>, number];

const options = { name: 'took_seconds', help: 'How long it took.', buckets: [0.005, 0.1, 1, 10] };
const labels = ['method', 'route'];

/** The same observations, by our histogram and by prom-client's own. */
function both(observations: readonly Observation[]): { ours: Registry; theirs: Registry } {
  const [ours, theirs] = [new Registry(), new Registry()];
  const fast = createFastHistogram({ ...options, labels });
  ours.registerMetric(fast.metric);
  const histogram = new Histogram({ ...options, labelNames: labels, registers: [theirs] });
  for (const [values, seconds] of observations) {
    fast.observe(values, seconds);
    histogram.observe(values, seconds);
  }
  return { ours, theirs };
}

const get = { method: 'GET', route: '/agents' };
const examples: Record<string, Observation[]> = {
  'nothing yet': [],
  one: [[get, 0.05]],
  'on the bounds, between them, below and above them all': [0, 0.005, 0.0051, 0.1, 1, 1.5, 10, 10.1, 1e9].map(
    (seconds): Observation => [get, seconds],
  ),
  'several series, in the order they came': [
    [{ method: 'POST', route: '/token' }, 0.2],
    [get, 0.2],
    [{ method: 'POST', route: '/token' }, 0.3],
    [{ method: 'GET', route: '/token' }, 3],
  ],
  'labels in another order are the same series': [
    [get, 0.2],
    [{ route: '/agents', method: 'GET' }, 0.2],
  ],
  'labels that need escaping': [[{ method: 'a"b', route: 'c\\d' }, 0.2]],
};

describe('a tally prints what a histogram of prom-client prints', () => {
  for (const [what, observations] of Object.entries(examples)) {
    it(what, async () => {
      const { ours, theirs } = both(observations);
      assert.equal(await ours.metrics(), await theirs.metrics());
    });
  }

  it('for any observations', async () => {
    const word = fc.constantFrom('GET', 'POST', '/agents', '/token', 'unmatched', '');
    const observation = fc.tuple(
      fc.record({ method: word, route: word }),
      fc.double({ min: 0, max: 20, noNaN: true }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(observation, { maxLength: 50 }), async (observations) => {
        const { ours, theirs } = both(observations);
        assert.equal(await ours.metrics(), await theirs.metrics());
      }),
    );
  });

  it('and the same when the figures of several processes are joined', async () => {
    const processes = [examples['several series, in the order they came'], [[get, 0.7] as Observation]].map(
      (observations) => both(observations ?? []),
    );
    const joined = async (whose: 'ours' | 'theirs') =>
      AggregatorRegistry.aggregate(
        await Promise.all(processes.map((process) => process[whose].getMetricsAsJSON())),
      ).metrics();
    assert.equal(await joined('ours'), await joined('theirs'));
  });

  it('a caller may reuse its object of labels', async () => {
    const registry = new Registry();
    const fast = createFastHistogram({ ...options, labels });
    registry.registerMetric(fast.metric);
    const reused = { ...get };
    fast.observe(reused, 1);
    reused.route = '/elsewhere';
    assert.match(await registry.metrics(), /took_seconds_count\{method="GET",route="\/agents"\} 1/);
  });

  it('a reset begins at nothing', async () => {
    const { ours } = both([[get, 1]]);
    ours.resetMetrics();
    assert.equal(await ours.metrics(), await both([]).ours.metrics());
  });
});
