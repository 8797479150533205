/** Redis accepts commands and does not answer: a token request waits without an open transaction or a lock. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skipWithout, startApp } from '../support/harness.ts';
import { startRelay } from '../support/peers/relay.ts';
import { startRedis, until } from '../support/programs.ts';
import { createDelegationClient } from '../support/scenarios/delegations.ts';

/** Shorter than the timeout of a Redis command. */
const conclusiveMs = 150;

test('no grant holds a transaction or an agent lock while it counts a request in Redis', async (context) => {
  const redis = await startRedis();
  if (!redis) return skipWithout(context, 'redis-server');
  const relay = await startRelay(redis.port);
  const t = await startApp({ REDIS_URL: `redis://127.0.0.1:${relay.port}` });
  const { createDelegation, exchange } = createDelegationClient(t);
  const client = await t.agent();
  const { delegationToken } = await createDelegation(await t.token(), client, ['agents:read'], {
    expiresIn: 86_400,
  });
  const byCredentials = () =>
    t.askToken({
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
    });

  const databaseTime = async () =>
    (await t.sql<{ now: string }>('select clock_timestamp()::text as now'))[0]?.now;
  /** The queries of the server since this time. Those of the tests have another application name. */
  const queriesSince = (time: string | undefined) =>
    t.sql(
      `select query from pg_stat_activity
       where datname = current_database() and application_name = 'countersign' and query_start > $1::timestamptz`,
      [time],
    );
  const busy = () =>
    t.sql<{ what: string }>(
      `select 'lock' as what from pg_locks
       where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
       union all select state from pg_stat_activity
       where datname = current_database() and state like 'idle in transaction%'`,
    );
  const untilBack = () =>
    until('redis available again', async () => {
      const { json } = await t.call('GET', '/health');
      return json.checks.redis === 'ok' || undefined;
    });

  /** Open transactions and locks while the request waits for Redis; undefined when the request was already past that point. */
  const whileStalled = async (ask: () => Promise<{ status: number }>) => {
    await untilBack();
    // The secret is not cached, so the lookup shows the progress of the request.
    t.clock.advance(61_000);
    const before = await databaseTime();
    relay.freeze();
    const frozenAt = performance.now();
    let answered = false;
    const asked = ask().finally(() => {
      answered = true;
    });
    await until('the client is looked up', async () => (await queriesSince(before)).length > 0 || undefined);
    const found = await busy();
    const isConclusive = !answered && performance.now() - frozenAt < conclusiveMs;
    await relay.restore();
    assert.equal((await asked).status, 200);
    return isConclusive ? found : undefined;
  };

  for (const ask of [byCredentials, () => exchange(client, delegationToken)]) {
    const found = await until('a conclusive moment', () => whileStalled(ask));
    assert.deepEqual(found, []);
  }
});
