/** Aggregation of the figures of several processes, and of processes that have exited. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMetrics, joinSnapshots, mergeSnapshots, withoutGauges } from './metrics.ts';

const deadLetters = 'service_webhook_dead_letters_total';

describe('a counter from the database', () => {
  it('is queried at each scrape; the last value is shown when the query fails', async () => {
    const metrics = createMetrics();
    let known: number | undefined = 3;
    metrics.countFromQuery(deadLetters, async () => {
      if (known === undefined) throw new Error('cannot use the database');
      return [{ labels: { event_type: 'agent.created' }, value: known }];
    });
    const shown = async () =>
      new RegExp(`^${deadLetters}\\{event_type="agent.created"\\} (\\d+)$`, 'm').exec(
        await metrics.text(),
      )?.[1];
    assert.match(await metrics.text(), new RegExp(`^# TYPE ${deadLetters} counter$`, 'm'));
    assert.equal(await shown(), '3');
    known = 4;
    assert.equal(await shown(), '4');
    known = undefined;
    assert.equal(await shown(), '4');
  });

  it('is equal in every process, so it is not summed', async () => {
    const snapshots = await Promise.all(
      [5, 7].map((value) => {
        const metrics = createMetrics();
        metrics.countFromQuery(deadLetters, async () => [{ labels: { event_type: 'agent.created' }, value }]);
        metrics.count('service_tokens_issued_total', { scope: 'agents:read' }, value);
        return metrics.snapshot();
      }),
    );
    const text = await joinSnapshots([...snapshots, await mergeSnapshots(snapshots.map(withoutGauges))]);
    assert.match(text, new RegExp(`^${deadLetters}\\{event_type="agent.created"\\} 7$`, 'm'));
    assert.match(text, /^service_tokens_issued_total\{scope="agents:read"\} 24$/m);
  });
});

it('counters and histograms of an exited process remain, gauges do not', async () => {
  const metrics = createMetrics();
  metrics.count('service_tokens_issued_total', { scope: 'agents:read' }, 2);
  metrics.observe('service_db_query_duration_seconds', { operation: 'x' }, 0.002);
  metrics.gauge('service_audit_chain_integrity', 0);
  const remains = withoutGauges(await metrics.snapshot());
  const text = await joinSnapshots([await mergeSnapshots([remains, remains])]);
  assert.match(text, /^service_tokens_issued_total\{scope="agents:read"\} 4$/m);
  assert.match(text, /^service_db_query_duration_seconds_count\{operation="x"\} 2$/m);
  assert.match(text, /^service_db_query_duration_seconds_bucket\{le="\+Inf",operation="x"\} 2$/m);
  assert.doesNotMatch(text, /service_audit_chain_integrity/);
});

describe('a counter of one series', () => {
  it('is exposed as 0 from the start, and adds to what others count', async () => {
    const metrics = createMetrics();
    const countHit = metrics.counter('service_cache_lookups_total', { cache: 'shared', result: 'hit' });
    const shown = async () => /^service_cache_lookups_total\{.*\} (\d+)$/m.exec(await metrics.text())?.[1];
    assert.equal(await shown(), '0');
    countHit();
    countHit(3);
    metrics.count('service_cache_lookups_total', { cache: 'shared', result: 'hit' }, 2);
    assert.equal(await shown(), '6');
  });
});

it('a gauge that is read at each scrape has one value per label', async () => {
  const metrics = createMetrics();
  const depths = { tokens: 1, writes: 2 };
  for (const queue of ['tokens', 'writes'] as const)
    metrics.gaugeFrom('service_queue_depth', () => depths[queue], { queue });
  assert.match(await metrics.text(), /^service_queue_depth\{queue="tokens"\} 1$/m);
  depths.writes = 5;
  const snapshots = [await metrics.snapshot(), await metrics.snapshot()];
  assert.match(await joinSnapshots(snapshots), /^service_queue_depth\{queue="writes"\} 10$/m);
});

it('the versions and the start of the newest process are part of the sum of several processes', async () => {
  const snapshots = await Promise.all(
    [1, 2].map(() => {
      const metrics = createMetrics();
      metrics.gauge('service_build_info', 1, { version: '1.0.0', node: 'v24.0.0' });
      return metrics.snapshot();
    }),
  );
  const text = await joinSnapshots(snapshots);
  assert.match(text, /^service_build_info\{version="1.0.0",node="v24.0.0"\} 1$/m);
  assert.match(text, /^process_start_time_seconds \d+$/m);
});
