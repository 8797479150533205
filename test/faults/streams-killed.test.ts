/** Kills processes and brokers while events are published: no event is lost, repeats have the same id, order holds. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { webhookEvents } from '../../src/contract/events.ts';
import { createDatabase, environment, execute, newAgent, skipWithout } from '../support/harness.ts';
import { type Received, startKafka, startNats, withoutRepeats } from '../support/peers/brokers.ts';
import {
  askToken,
  authorize,
  freePort,
  makeOperator,
  startCountersign,
  startServe,
  until,
} from '../support/programs.ts';
import { startTraffic } from '../support/traffic.ts';

const kafkaIsNeeded = 'Kafka (scripts/kafka-for-tests.sh)';

const expectedIds = async (databaseUrl: string): Promise<string[]> => {
  const rows = await execute<{ id: string }>(
    databaseUrl,
    `select event_id as id from audit_events where outcome = 'success' and action = any ($1)`,
    [webhookEvents],
  );
  return rows.map(({ id }) => id).toSorted();
};

const untilPublished = (databaseUrl: string) =>
  until(
    'nothing waits any more',
    async () => (await execute(databaseUrl, 'select 1 from stream_outbox limit 1')).length === 0 || undefined,
  );

const idsOf = (received: readonly Received[]): string[] => received.map(({ value }) => JSON.parse(value).id);

/** The versions of an agent in published order. */
const versionsOf = (received: readonly Received[], agentId: string): number[] =>
  withoutRepeats(received)
    .map(({ value }) => JSON.parse(value))
    .filter(({ type, data }) => type === 'agent.updated' && data.agentId === agentId)
    .map(({ data }) => Number.parseInt(data.version, 10));

const oneToN = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Increments the version of one agent, one request after the other. */
async function startVersionUpdates(url: () => string, headers: Record<string, string>) {
  const json = { ...headers, 'content-type': 'application/json' };
  const made = await fetch(`${url()}/api/v1/agents`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify(newAgent({ version: '0.0.0' })),
  });
  const { agentId } = (await made.json()) as { agentId: string };
  let [raised, over] = [0, false];
  const raise = async () => {
    while (!over) {
      const body = JSON.stringify({ version: `${raised + 1}.0.0` });
      const done = await fetch(`${url()}/api/v1/agents/${agentId}`, {
        method: 'PATCH',
        headers: json,
        body,
      }).then(
        async (response) => {
          await response.text();
          return response.status === 200;
        },
        () => false,
      );
      // Setting the same version again creates no event, so a retry after a lost response is safe.
      if (done) raised += 1;
      await sleep(25);
    }
  };
  const raising = raise();
  return {
    agentId,
    raised: () => raised,
    async stop() {
      over = true;
      await raising;
      return raised;
    },
  };
}

describe('Streams', { concurrency: 2 }, () => {
  test('200 while both brokers start late, are killed and restart: all events arrive in order', async (t) => {
    const [nats, kafka] = await Promise.all([startNats(), startKafka({ 'num.partitions': '2' })]);
    if (!nats) return skipWithout(t, 'nats-server');
    if (!kafka) return skipWithout(t, kafkaIsNeeded);
    await Promise.all([nats.kill(), kafka.kill()]);
    const databaseUrl = await createDatabase();
    const env = environment(databaseUrl, {
      NATS_URL: `nats://127.0.0.1:${nats.port}`,
      KAFKA_BROKERS: `127.0.0.1:${kafka.port}`,
    });
    const operator = await makeOperator(env);
    const { url, program } = await startServe(env);
    const headers = await authorize(url, operator);
    const raising = await startVersionUpdates(() => url, headers);
    const traffic = startTraffic([() => askToken(url, operator), () => fetch(`${url}/health`)]);
    await sleep(1_000);
    await Promise.all([nats.restart(), kafka.restart()]);
    await sleep(1_500);
    await nats.kill();
    await sleep(500);
    await kafka.kill();
    await sleep(1_000);
    await nats.restart();
    await kafka.restart();
    await sleep(1_000);
    await until('there are many changes', async () => raising.raised() > 20 || undefined);
    await until('fifty requests are answered', async () => traffic.responses().length > 50 || undefined);
    const raised = await raising.stop();
    const exchanges = await traffic.stop();
    assert.deepEqual(new Set(exchanges.map(({ outcome }) => outcome)), new Set([200]));
    await untilPublished(databaseUrl);

    const ids = await expectedIds(databaseUrl);
    const there = { nats: await nats.received(), kafka: await kafka.received() };
    assert.deepEqual(idsOf(there.nats).toSorted(), ids, 'NATS has each once');
    assert.deepEqual(idsOf(withoutRepeats(there.kafka)).toSorted(), ids, 'Kafka has each at least once');
    for (const received of [there.nats, there.kafka])
      assert.deepEqual(versionsOf(received, raising.agentId), oneToN(raised));
    program.kill('SIGTERM');
    assert.equal(await program.gone(), 0, program.output());
  });

  test('a worker killed between publishing and deleting publishes the same ids again; JetStream deduplicates them', async (t) => {
    const [nats, kafka] = await Promise.all([startNats(), startKafka()]);
    if (!nats) return skipWithout(t, 'nats-server');
    if (!kafka) return skipWithout(t, kafkaIsNeeded);
    const databaseUrl = await createDatabase();
    const env = environment(databaseUrl, {
      NATS_URL: `nats://127.0.0.1:${nats.port}`,
      KAFKA_BROKERS: `127.0.0.1:${kafka.port}`,
    });
    const operator = await makeOperator(env);
    const first = await startServe(env, ['--no-worker']);
    for (let count = 0; count < 30; count += 1)
      assert.equal((await askToken(first.url, operator)).status, 200);
    const ids = await expectedIds(databaseUrl);

    // The row locks block deletes, not reads.
    const holder = new pg.Client({ connectionString: databaseUrl });
    await holder.connect();
    await holder.query('begin');
    await holder.query('select 1 from stream_outbox for update');
    const worker = startCountersign(['worker'], env);
    await until('both brokers have them', async () => {
      const counts = [await nats.count(), await kafka.count()];
      return counts.every((count) => count >= ids.length) || undefined;
    });
    worker.kill('SIGKILL');
    await worker.ended();
    // The delete was sent and would still run.
    await holder.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and query like '%delete from stream_outbox%' and pid <> pg_backend_pid()`,
    );
    await holder.query('rollback');
    await holder.end();
    const [left] = await execute<{ count: string }>(databaseUrl, 'select count(*) from stream_outbox');
    assert.equal(Number(left?.count), 2 * ids.length, 'nothing was deleted');

    startCountersign(['worker'], env);
    await untilPublished(databaseUrl);
    assert.deepEqual(idsOf(await nats.received()).toSorted(), ids);
    const repeated = await kafka.received();
    // A slow machine ends a blocked delete, and publishes once more before the kill.
    assert.ok(repeated.length >= 2 * ids.length, String(repeated.length));
    assert.deepEqual([...new Set(idsOf(repeated))].toSorted(), ids);
  });

  test('two workers killed alternately under load: the other continues, no event is lost, order holds', async (t) => {
    const nats = await startNats();
    if (!nats) return skipWithout(t, 'nats-server');
    const databaseUrl = await createDatabase();
    const env = environment(databaseUrl, { NATS_URL: `nats://127.0.0.1:${nats.port}` });
    const operator = await makeOperator(env);
    const front = await startServe(env, ['--no-worker']);
    const raising = await startVersionUpdates(() => front.url, await authorize(front.url, operator));
    let workers = [startCountersign(['worker'], env), startCountersign(['worker'], env)];
    await until('something is published', async () => (await nats.count()) > 0 || undefined);

    for (let kill = 0; kill < 4; kill += 1) {
      const [victim, survivor] = workers as [(typeof workers)[0], (typeof workers)[0]];
      victim.kill('SIGKILL');
      await victim.ended();
      const before = await nats.count();
      await until(
        'the other publishes',
        async () => (await nats.count()) > before + 5 || undefined,
        survivor,
      );
      workers = [survivor, startCountersign(['worker'], env)];
    }
    const raised = await raising.stop();
    await untilPublished(databaseUrl);
    const received = await nats.received();
    assert.deepEqual(idsOf(received).toSorted(), await expectedIds(databaseUrl));
    assert.deepEqual(versionsOf(received, raising.agentId), oneToN(raised));
  });

  test('serve refuses to start with invalid broker settings; it names them and prints no password', async () => {
    const env = environment(await createDatabase(), {
      NATS_URL: 'http://user:s3cret@127.0.0.1:4222',
      KAFKA_BROKERS: 'kafka://127.0.0.1',
      KAFKA_TOPIC_PREFIX: 'a b',
      KAFKA_SASL_USERNAME: 'me',
      PORT: String(await freePort()),
    });
    const program = startCountersign(['serve'], env);
    assert.equal(await program.gone(), 1);
    for (const line of [
      /NATS_URL must be nats:\/\/host:port/,
      /KAFKA_BROKERS must list brokers as host:port/,
      /KAFKA_TOPIC_PREFIX must be/,
      /KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD belong together/,
    ])
      assert.match(program.output(), line);
    assert.doesNotMatch(program.output(), /s3cret/);
  });
});
