/** One conformance suite for both brokers, on real servers; then tests of each. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import {
  AclOperations,
  AclPermissionTypes,
  Admin,
  ResourcePatternTypes,
  ResourceTypes,
} from '@platformatic/kafka';
import { skipWithout } from '../../../test/support/harness.ts';
import {
  startKafka,
  startNats,
  type TestBroker,
  withoutRepeats,
} from '../../../test/support/peers/brokers.ts';
import { startRelay } from '../../../test/support/peers/relay.ts';
import { freePort, until } from '../../../test/support/programs.ts';
import { webhookEvents } from '../../contract/events.ts';
import { createIds } from '../../kernel/ids.ts';
import { type Broker, BrokerUnavailable, type Message } from '../../kernel/ports/broker.ts';
import { createKafkaBroker } from './kafka.ts';
import { createNatsBroker } from './nats.ts';

const ids = createIds();
const going = new AbortController().signal;

const messagesOf = (count: number, organizationId: string, type = 'token.issued'): Message[] =>
  Array.from({ length: count }, () => {
    const eventId = ids.uuid();
    return {
      eventId,
      organizationId,
      type,
      envelope: JSON.stringify({ id: eventId, type, organizationId, data: { owner: 'ÿ – 字 😀' } }),
    };
  });

const isUnavailable = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof BrokerUnavailable, String(error));
  assert.match(error.message, pattern);
  return true;
};

interface Kind {
  readonly name: string;
  readonly needs: string;
  start(): Promise<TestBroker | undefined>;
  broker(port: number): Broker;
  place(message: Message): string;
  key(message: Message): string;
}

const kinds: readonly Kind[] = [
  {
    name: 'Kafka',
    needs: 'Kafka (scripts/kafka-for-tests.sh)',
    start: () => startKafka(),
    broker: (port) =>
      createKafkaBroker({ brokers: [{ host: '127.0.0.1', port }], topicPrefix: 'countersign' }),
    place: ({ type }) => `countersign.${type}`,
    key: ({ organizationId }) => organizationId,
  },
  {
    name: 'NATS',
    needs: 'nats-server',
    start: () => startNats(),
    broker: (port) => createNatsBroker({ urls: [`nats://127.0.0.1:${port}`], subjectPrefix: 'countersign' }),
    place: ({ organizationId, type }) => `countersign.${organizationId}.${type}`,
    key: ({ eventId }) => eventId,
  },
];

for (const kind of kinds) {
  test(`${kind.name}: creates its topics, stores in order, continues after a restart, and times out`, async (t) => {
    const server = await kind.start();
    if (!server) return skipWithout(t, kind.needs);
    const broker = kind.broker(server.port);
    t.after(() => broker.close());
    const [one, other] = [ids.uuid(), ids.uuid()];
    const sent = [...messagesOf(300, one), ...messagesOf(200, other), ...messagesOf(5, one)];

    // A broker that has just started may not know its partitions yet: these are in each partition that is used.
    const first = [...messagesOf(1, one), ...messagesOf(1, other)];
    await until('the broker takes messages', () => broker.publish(first, going).then(() => true));
    /** Without those, which may be there more than once. */
    const receivedSince = async () =>
      (await server.received()).filter(({ value }) => first.every(({ envelope }) => envelope !== value));

    // Every message is stored unchanged, under its topic or subject and key.
    {
      await broker.publish(sent, going);
      const received = await receivedSince();
      assert.equal(received.length, sent.length);
      for (const organizationId of [one, other]) {
        assert.deepEqual(
          received.filter(({ value }) => JSON.parse(value).organizationId === organizationId),
          sent
            .filter((message) => message.organizationId === organizationId)
            .map((message) => ({
              place: kind.place(message),
              key: kind.key(message),
              value: message.envelope,
            })),
        );
      }
    }

    // Every event type has its topic from the first message on.
    {
      const kindsOfEvents = webhookEvents.flatMap((type) => messagesOf(1, other, type));
      await until('every type is taken', () => broker.publish(kindsOfEvents, going).then(() => true));
      sent.push(...kindsOfEvents);
      assert.equal(withoutRepeats(await receivedSince()).length, sent.length);
    }

    // Killed: fails within the timeout; restarted: the same adapter works again.
    {
      await server.kill();
      const batch = messagesOf(10, one);
      await assert.rejects(broker.publish(batch, going), BrokerUnavailable);
      await assert.rejects(broker.publish(batch, going), BrokerUnavailable);
      await server.restart();
      // A broker that has just started may not know its partitions yet.
      await until('the broker takes messages again', () => broker.publish(batch, going).then(() => true));
      sent.push(...batch);
      const values = (await receivedSince()).map(({ value }) => value);
      assert.deepEqual(new Set(values), new Set(sent.map(({ envelope }) => envelope)));
    }

    // Frozen: fails soon after the process begins to stop.
    {
      const relay = await startRelay(server.port);
      const relayed = kind.broker(relay.port);
      relay.freeze();
      const stopping = new AbortController();
      const publishing = relayed.publish(messagesOf(1, one), stopping.signal);
      stopping.abort();
      await assert.rejects(publishing, isUnavailable(/^the process is stopping$/));
      await relayed.close();
    }
  });

  test(`${kind.name}: an address without a broker gives its reason`, async () => {
    const broker = kind.broker(await freePort());
    await assert.rejects(broker.publish(messagesOf(1, ids.uuid()), going), isUnavailable(/connect|refused/i));
    await broker.close();
  });
}

describe('NATS', () => {
  const withNats = async (t: TestContext, ...args: Parameters<typeof startNats>) =>
    (await startNats(...args)) ?? skipWithout(t, 'nats-server');

  test('a duplicate is stored once, and later messages keep their order', async (t) => {
    const server = await withNats(t);
    if (!server) return;
    const { port } = server;
    const broker = kinds[1]?.broker(port) as Broker;
    t.after(() => broker.close());
    const organizationId = ids.uuid();
    const all = messagesOf(60, organizationId);
    await broker.publish(all.slice(0, 20), going);
    await broker.publish(messagesOf(5, ids.uuid()), going);
    await broker.publish(all, going);
    await broker.publish(all, going);
    const own = (await server.received()).filter(({ place }) => place.includes(organizationId));
    assert.deepEqual(
      own.map(({ key }) => key),
      all.map(({ eventId }) => eventId),
    );
  });

  test('another writer on the stream costs no order and no message', async (t) => {
    const server = await withNats(t);
    if (!server) return;
    const broker = kinds[1]?.broker(server.port) as Broker;
    t.after(() => broker.close());
    const organizationId = ids.uuid();
    const all = messagesOf(900, organizationId);
    await broker.publish(all.slice(0, 100), going);
    const otherWriter = await connect({ port: server.port });
    t.after(() => otherWriter.close());
    let over = false;
    const noise = async () => {
      while (!over) {
        await otherWriter.request('countersign.other.noise', '{}').catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    };
    const noisy = noise();
    for (let from = 100; from < all.length; from += 200)
      await broker.publish(all.slice(from, from + 200), going);
    over = true;
    await noisy;
    const received = await server.received();
    assert.ok(
      received.some(({ place }) => place.endsWith('noise')),
      'the other writer wrote',
    );
    assert.deepEqual(
      received.filter(({ place }) => place.includes(organizationId)).map(({ key }) => key),
      all.map(({ eventId }) => eventId),
    );
  });

  test('uses an existing stream unchanged; names a subject without a stream', async (t) => {
    const server = await withNats(t);
    if (!server) return;
    const connection = await connect({ port: server.port });
    t.after(() => connection.close());
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: 'mine', subjects: ['countersign.*.agent.*', 'else.>'] });
    const broker = kinds[1]?.broker(server.port) as Broker;
    t.after(() => broker.close());
    await broker.publish(messagesOf(3, ids.uuid(), 'agent.created'), going);
    const names = (await manager.streams.list().next()).map(({ config, state }) => [
      config.name,
      state.messages,
    ]);
    assert.deepEqual(names, [['mine', 3]]);
    await assert.rejects(
      broker.publish(messagesOf(1, ids.uuid(), 'token.issued'), going),
      isUnavailable(/no stream accepts the subject countersign\.[\w-]+\.token\.issued/),
    );
  });

  test('reads user and password, or a token, from the URL, and never logs them', async (t) => {
    const logins = [
      {
        args: ['--user', 'us er', '--pass', 'p@ss/word'],
        userinfo: 'us%20er:p%40ss%2Fword',
        login: { user: 'us er', pass: 'p@ss/word' },
      },
      { args: ['--auth', 'tok:en'], userinfo: 'tok%3Aen', login: { token: 'tok:en' } },
    ];
    for (const { args, userinfo, login } of logins) {
      const server = await withNats(t, { args, login });
      if (!server) return;
      const open = (info: string) =>
        createNatsBroker({ urls: [`nats://${info}127.0.0.1:${server.port}`], subjectPrefix: 'countersign' });
      const broker = open(`${userinfo}@`);
      await broker.publish(messagesOf(2, ids.uuid()), going);
      assert.equal((await server.received()).length, 2);
      await broker.close();
      for (const wrong of ['', 'wrong-user:s3cret@', 's3cret@'])
        await assert.rejects(open(wrong).publish(messagesOf(1, ids.uuid()), going), (error: Error) => {
          assert.match(error.message, /authorization/i);
          assert.doesNotMatch(error.message, /s3cret/);
          return true;
        });
    }
  });

  test('names a server without JetStream', async (t) => {
    const server = await withNats(t, { jetstream: false });
    if (!server) return;
    const broker = createNatsBroker({
      urls: [`nats://127.0.0.1:${server.port}`],
      subjectPrefix: 'countersign',
    });
    t.after(() => broker.close());
    await assert.rejects(
      broker.publish(messagesOf(1, ids.uuid()), going),
      isUnavailable(/jetstream is not enabled/i),
    );
  });
});

describe('Kafka', () => {
  const allow = async (
    port: number,
    sasl: { mechanism: 'PLAIN'; username: string; password: string },
    principal: string,
    operation: typeof AclOperations.WRITE,
  ) => {
    const admin = new Admin({ clientId: 'tests', bootstrapBrokers: [`127.0.0.1:${port}`], sasl });
    const acl = {
      resourceType: ResourceTypes.TOPIC,
      resourceName: 'countersign.',
      resourcePatternType: ResourcePatternTypes.PREFIXED,
      principal,
      host: '*',
      operation,
      permissionType: AclPermissionTypes.ALLOW,
    };
    await admin.createAcls({ creations: [acl] });
    await admin.close();
  };

  test('with SASL: a wrong password is refused and never logged; names a topic that may not be created', async (t) => {
    const jaas =
      'org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="s3cret" user_admin="s3cret" user_weak="w3ak";';
    const sasl = { mechanism: 'PLAIN', username: 'admin', password: 's3cret' } as const;
    const server = await startKafka(
      {
        'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,CLIENTS:SASL_PLAINTEXT',
        'sasl.enabled.mechanisms': 'PLAIN',
        'sasl.mechanism.inter.broker.protocol': 'PLAIN',
        'listener.name.clients.plain.sasl.jaas.config': jaas,
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users': 'User:admin;User:ANONYMOUS',
      },
      { sasl },
    );
    if (!server) return skipWithout(t, 'Kafka (scripts/kafka-for-tests.sh)');
    const open = (username: string, password: string) =>
      createKafkaBroker({
        brokers: [{ host: '127.0.0.1', port: server.port }],
        topicPrefix: 'countersign',
        sasl: { mechanism: 'PLAIN', username, password },
      });
    const refused = async (broker: Broker, pattern: RegExp) => {
      await assert.rejects(broker.publish(messagesOf(1, ids.uuid()), going), (error: Error) => {
        assert.match(error.message, pattern);
        assert.doesNotMatch(error.message, /s3cret|wr0ng|w3ak/);
        return true;
      });
      await broker.close();
    };
    await refused(open('admin', 'wr0ng'), /authentication/i);
    await refused(
      open('weak', 'w3ak'),
      /^the topic countersign\.token\.issued cannot be used: .*authorization failed/i,
    );
    await allow(server.port, sasl, 'User:weak', AclOperations.WRITE);
    await refused(
      open('weak', 'w3ak'),
      /^the topic countersign\.token\.issued does not exist and could not be created \(.*authoriz.*\); create it$/i,
    );
    const broker = open('admin', 's3cret');
    await broker.publish(messagesOf(2, ids.uuid()), going);
    assert.equal((await server.received()).length, 2);
    await broker.close();
  });
});
