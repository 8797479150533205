/** Publishing to real brokers: completeness, order, and broker outages. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import pg from 'pg';
import { newAgent, skipWithout, startApp, type TestApp } from '../../../test/support/harness.ts';
import { type Received, startKafka, startNats } from '../../../test/support/peers/brokers.ts';
import { startRelay } from '../../../test/support/peers/relay.ts';
import { freePort, until } from '../../../test/support/programs.ts';
import { refusalEvents, webhookEventOf, webhookEvents } from '../../contract/events.ts';

const natsUrl = ({ port }: { port: number }) => `nats://127.0.0.1:${port}`;

const untilPublished = (t: TestApp, stream: string) =>
  until(`the outbox of ${stream} is empty`, async () => (await pendingFor(t, stream)) === 0 || undefined);

const pendingFor = async (t: TestApp, stream: string): Promise<number> => {
  const rows = await t.sql('select event_id from stream_outbox where stream = $1', [stream]);
  return rows.length;
};

/** Until a publisher waits for the broker, with its transaction open. */
const untilPublisherWaits = (t: TestApp) =>
  until('a publisher waits within its transaction', async () => {
    const idle = await t.sql(
      `select pid from pg_stat_activity where datname = current_database() and state = 'idle in transaction'
       and query ~ 'from stream_outbox' and state_change < clock_timestamp() - interval '0.3 s'`,
    );
    return idle.length === 1 || undefined;
  });

/** The envelopes that a stream must hold, by event id, derived from the audit log. */
const expected = async (t: TestApp): Promise<Map<string, object>> => {
  const rows = await t.sql<{ id: string; type: string; organizationId: string; timestamp: Date }>(
    `select event_id as id, action as type, organization_id as "organizationId", occurred_at as timestamp
     from audit_events where outcome = 'success' or action = any ($1)`,
    [refusalEvents],
  );
  return new Map(
    rows.flatMap(({ timestamp, ...row }) => {
      const type = webhookEventOf(row.type);
      return type ? [[row.id, { ...row, type, timestamp: timestamp.toISOString() }] as const] : [];
    }),
  );
};

const assertComplete = async (t: TestApp, received: readonly Received[]) => {
  const envelopes = received.map(({ value }) => JSON.parse(value));
  const published = new Map(envelopes.map(({ data, ...head }) => [head.id, head]));
  assert.deepEqual(published, await expected(t));
  assert.equal(envelopes.length, published.size, 'no duplicates');
};

async function startWithNats(t: TestContext, changes: Record<string, string> = {}) {
  const nats = await startNats();
  if (!nats) return skipWithout(t, 'nats-server');
  const app = await startApp({ NATS_URL: natsUrl(nats), LOG_LEVEL: 'info', ...changes });
  return { nats, app };
}

/** Causes each event that brokers get, and some that only the audit log records. */
async function causeEachEvent(app: TestApp) {
  const token = await app.token();
  const { agentId } = (
    await app.call('POST', '/api/v1/agents', { token, payload: newAgent({ owner: 'Zoë – 字' }) })
  ).json;
  const path = `/api/v1/agents/${agentId}`;
  const patch = (payload: object) => app.call('PATCH', path, { token, payload });
  await patch({ version: '2.0.0' });
  await patch({ status: 'suspended' });
  await patch({ status: 'active' });
  const { credentialId, clientSecret } = (await app.call('POST', `${path}/credentials`, { token })).json;
  const issued = await app.token(undefined, { clientId: agentId, clientSecret });
  await app.form('/api/v1/token/revoke', { token: issued }, token);
  await app.askToken({ grant_type: 'client_credentials', client_id: agentId, client_secret: 'wrong' });
  await app.call('POST', `${path}/credentials/${credentialId}/rotate`, { token });
  await app.call('DELETE', `${path}/credentials/${credentialId}`, { token });
  const { organizationId } = (
    await app.call('POST', '/api/v1/organizations', {
      token,
      payload: { name: 'Other', slug: `other-${agentId}` },
    })
  ).json;
  await causeResourceEvents(app, token, { agentId, organizationId });
  await app.call('DELETE', path, { token });
  return agentId as string;
}

async function causeResourceEvents(
  app: TestApp,
  token: string,
  { agentId, organizationId }: { agentId: string; organizationId: string },
) {
  const scopes = ['orders:read'];
  const { resourceId } = (
    await app.call('POST', '/api/v1/resources', {
      token,
      payload: {
        identifier: `https://${agentId}.example`,
        name: 'Orders',
        scopes: scopes.map((name) => ({ name })),
      },
    })
  ).json;
  const resource = `/api/v1/resources/${resourceId}`;
  const share = `${resource}/shares/${organizationId}`;
  const grant = `/api/v1/agents/${agentId}/grants/${resourceId}`;
  for (const [method, url, payload] of [
    ['PATCH', resource, { name: 'All orders' }],
    ['PUT', share, { scopes }],
    ['DELETE', share],
    ['PUT', grant, { scopes }],
    ['DELETE', grant],
    ['DELETE', resource],
  ] as const)
    await app.call(method, url, { token, ...(payload && { payload }) });
}

describe('Streams', { concurrency: 2 }, () => {
  test('each event that webhooks carry arrives at both brokers as the envelope of the spec, and no other event does', async (t) => {
    const [nats, kafka] = await Promise.all([startNats(), startKafka()]);
    if (!nats) return skipWithout(t, 'nats-server');
    if (!kafka) return skipWithout(t, 'Kafka (scripts/kafka-for-tests.sh)');
    const app = await startApp({
      NATS_URL: natsUrl(nats),
      KAFKA_BROKERS: `127.0.0.1:${kafka.port}`,
      KAFKA_TOPIC_PREFIX: 'acme.events',
    });
    const agentId = await causeEachEvent(app);
    app.app.loops.start();
    await untilPublished(app, 'nats');
    await untilPublished(app, 'kafka');

    const there = { nats: await nats.received(), kafka: await kafka.received() };
    const { organizationId } = app.operator;
    for (const received of [there.nats, there.kafka]) {
      await assertComplete(app, received);
      const own = received
        .map(({ value }) => JSON.parse(value))
        .filter(({ data }) => data.agentId === agentId);
      const types = received.map(({ value }) => JSON.parse(value).type);
      const caused = webhookEvents.filter((type) => /^(agent|credential|token|resource|grant)\./.test(type));
      assert.deepEqual(new Set(types), new Set(caused));
      const { id, timestamp, ...created } = own.find(({ type }) => type === 'agent.created');
      assert.deepEqual(created, {
        type: 'agent.created',
        organizationId,
        data: {
          agentId,
          agentType: 'screener',
          status: 'active',
          owner: 'Zoë – 字',
          version: '1.0.0',
          deploymentEnv: 'production',
        },
      });
    }
    for (const { place, key, value } of there.nats) {
      const { id, type, organizationId: owner } = JSON.parse(value);
      assert.deepEqual([place, key], [`acme.events.${owner}.${type}`, id]);
    }
    for (const { place, key, value } of there.kafka) {
      const { type, organizationId: owner } = JSON.parse(value);
      assert.deepEqual([place, key], [`acme.events.${type}`, owner]);
    }
  });

  test('without a configured broker the outbox stays empty', async () => {
    const app = await startApp();
    await causeEachEvent(app);
    assert.deepEqual(await app.sql('select * from stream_outbox'), []);
    assert.doesNotMatch((await app.call('GET', '/metrics')).text, /service_stream_outbox_pending\{/);
  });

  test('events of an organization arrive in the order of the changes, with concurrent writers', async (t) => {
    const started = await startWithNats(t);
    if (!started) return;
    const { nats, app } = started;
    app.app.loops.start();
    const token = await app.token();
    const make = async () =>
      (await app.call('POST', '/api/v1/agents', { token, payload: newAgent() })).json.agentId as string;
    const patch = async (agentId: string, payload: object) => {
      const { status, text } = await app.call('PATCH', `/api/v1/agents/${agentId}`, { token, payload });
      assert.equal(status, 200, text);
    };
    const shared = await make();
    // Each writer waits for its responses; all of them also update one shared agent.
    const writers = Array.from({ length: 10 }, async (_, writer) => {
      const agentId = await make();
      for (let step = 1; step <= 12; step += 1) {
        await patch(agentId, { version: `${step + 1}.0.0` });
        await patch(shared, { version: `${step + 1}.${writer}.0` });
        await app.token();
      }
      return agentId;
    });
    const own = await Promise.all(writers);
    await untilPublished(app, 'nats');

    const received = (await nats.received()).map(({ value }) => JSON.parse(value));
    const versionsOf = (agentId: string) =>
      received
        .filter(({ type, data }) => type === 'agent.updated' && data.agentId === agentId)
        .map(({ data }) => data.version as string);
    for (const agentId of own)
      assert.deepEqual(
        versionsOf(agentId),
        Array.from({ length: 12 }, (_, index) => `${index + 2}.0.0`),
      );
    const sharedVersions = versionsOf(shared);
    assert.equal(sharedVersions.length, 120);
    const { version } = (await app.call('GET', `/api/v1/agents/${shared}`, { token })).json;
    assert.equal(sharedVersions.at(-1), version, 'the last event has the current version of the agent');
    for (let writer = 0; writer < 10; writer += 1) {
      const steps = sharedVersions
        .filter((text) => text.endsWith(`.${writer}.0`))
        .map((text) => Number.parseInt(text, 10));
      assert.deepEqual(
        steps,
        steps.toSorted((a, b) => a - b),
      );
    }
    await assertComplete(app, await nats.received());
  });

  test('a transaction that commits late, even while later ones are being published, is not skipped', async (t) => {
    const nats = await startNats();
    if (!nats) return skipWithout(t, 'nats-server');
    const relay = await startRelay(nats.port);
    const app = await startApp({ NATS_URL: natsUrl(relay) });
    const late = new pg.Client({ connectionString: app.databaseUrl });
    await late.connect();
    const eventId = '0b5a1b0e-0000-4000-8000-000000000001';
    await late.query('begin');
    await late.query(
      `insert into stream_outbox (stream, event_id, organization_id, type, envelope)
       values ('nats', $1, $1, 'agent.created', $2)`,
      [eventId, JSON.stringify({ id: eventId })],
    );
    app.app.loops.start();
    await causeEachEvent(app);
    await untilPublished(app, 'nats');
    relay.freeze();
    await app.token();
    await untilPublisherWaits(app);
    await late.query('commit');
    await late.end();
    await relay.restore();
    await untilPublished(app, 'nats');
    const keys = (await nats.received()).map(({ key }) => key);
    assert.ok(keys.includes(eventId));
    assert.equal(keys.length, (await expected(app)).size + 1);
  });

  test('an unavailable broker delays neither requests nor the other broker; it is logged once, and all events arrive later', async (t) => {
    const started = await startWithNats(t, { KAFKA_BROKERS: `127.0.0.1:${await freePort()}` });
    if (!started) return;
    const { nats, app } = started;
    await nats.kill();
    app.app.loops.start();
    for (let count = 0; count < 5; count += 1) await causeEachEvent(app);
    const pending = await pendingFor(app, 'nats');
    assert.equal(pending, (await expected(app)).size);
    const warnings = () =>
      app.logs.map((line) => JSON.parse(line)).filter(({ msg }) => /broker unavailable/.test(msg));
    await until('both outages are logged', async () => warnings().length === 2 || undefined);

    await nats.restart();
    await untilPublished(app, 'nats');
    await assertComplete(app, await nats.received());
    assert.equal(await pendingFor(app, 'kafka'), pending, 'Kafka is still unavailable');
    assert.deepEqual(
      warnings()
        .map(({ stream, level }) => [stream, level])
        .toSorted(),
      [
        ['kafka', 40],
        ['nats', 40],
      ],
    );
    assert.ok(app.logs.some((line) => /broker available again/.test(line)));
    await until('/metrics shows the pending events', async () => {
      const { text } = await app.call('GET', '/metrics');
      return text.includes(`service_stream_outbox_pending{stream="kafka"} ${pending}`) || undefined;
    });
  });

  test('200 and no waiting while the broker is frozen, with a single database connection for requests', async (t) => {
    const nats = await startNats();
    if (!nats) return skipWithout(t, 'nats-server');
    const relay = await startRelay(nats.port);
    const app = await startApp({ NATS_URL: natsUrl(relay), DATABASE_POOL_SIZE: '1' });
    app.app.loops.start();
    await causeEachEvent(app);
    await untilPublished(app, 'nats');
    relay.freeze();
    await causeEachEvent(app);
    await untilPublisherWaits(app);
    await causeEachEvent(app);
    assert.ok((await pendingFor(app, 'nats')) > 20);
    await relay.restore();
    await untilPublished(app, 'nats');
    await assertComplete(app, await nats.received());
  });

  test('a long outbox is published in bounded batches, in order', async (t) => {
    const started = await startWithNats(t);
    if (!started) return;
    const { nats, app } = started;
    await app.sql(
      `insert into stream_outbox (stream, event_id, organization_id, type, envelope)
       select 'nats', gen_random_uuid(), '0b5a1b0e-0000-4000-8000-000000000002', 'agent.updated',
              json_build_object('number', number, 'padding', repeat('字', case when number % 1000 = 0 then 100000 else 100 end))::text
       from generate_series(1, 5000) as number order by number`,
    );
    app.app.loops.start();
    await untilPublished(app, 'nats');
    const numbers = (await nats.received())
      .map(({ value }) => JSON.parse(value).number)
      .filter((number) => number !== undefined);
    assert.deepEqual(
      numbers,
      Array.from({ length: 5_000 }, (_, index) => index + 1),
    );
  });
});
