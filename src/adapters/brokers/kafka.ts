/**
 * The broker port on Kafka: topic `<prefix>.<event type>`, key the organization, so that its events of one type share a
 * partition and keep their order. Nothing is queued or tried again in here: a batch that fails is the publisher's, and the
 * connections it failed on are dropped, lest a late part of it arrive behind something newer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Admin,
  type Connection,
  compatibilityPartitioner,
  ListOffsetTimestamps,
  ProduceAcks,
  Producer,
  stringSerializers,
} from '@platformatic/kafka';
import { webhookEvents } from '../../contract/events.ts';
import { type Broker, BrokerUnavailable, type Message } from '../../kernel/ports/broker.ts';
import { withDeadline } from './deadline.ts';
import { isRefusal, isUnknownTopic, reasonOf, refusedTopics } from './kafka-refusals.ts';

export interface KafkaOptions {
  readonly brokers: readonly { readonly host: string; readonly port: number }[];
  readonly topicPrefix: string;
  /** With TLS; `ca` where the certificate is not signed by one that Node knows. */
  readonly tls?: { readonly ca?: string } | undefined;
  readonly sasl?:
    | { readonly mechanism: SaslMechanism; readonly username: string; readonly password: string }
    | undefined;
}

export type SaslMechanism = 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';

const connectMs = 3_000;
const requestMs = 8_000;
const publishMs = 25_000;
/** Until the topics just made have leaders. */
const newTopics = { looks: 20, everyMs: 250 };

interface KafkaSession {
  send(messages: readonly Message[]): Promise<void>;
  /** Cuts its connections; what waits for them fails. */
  drop(): void;
}

export function createKafkaBroker(options: KafkaOptions): Broker {
  let session: KafkaSession | undefined;
  return {
    async publish(messages, stopping) {
      session ??= openSession(options);
      const current = session;
      try {
        await withDeadline(current.send(messages), publishMs, stopping);
      } catch (error) {
        session = undefined;
        current.drop();
        throw new BrokerUnavailable(reasonOf(error));
      }
    },
    async close() {
      session?.drop();
      session = undefined;
    },
  };
}

function openSession({ brokers, topicPrefix, tls, sasl }: KafkaOptions): KafkaSession {
  const common = {
    clientId: 'countersign',
    bootstrapBrokers: brokers.map((broker) => ({ ...broker })),
    connectTimeout: connectMs,
    requestTimeout: requestMs,
    timeout: requestMs,
    retries: 0,
    ...(tls && { tls: { ...tls }, tlsServerName: true }),
    ...(sasl && { sasl: { ...sasl } }),
  };
  const producer = new Producer({
    ...common,
    serializers: stringSerializers,
    // The partition that Java clients choose for the same key.
    partitioner: compatibilityPartitioner,
  });
  const connections = new Set<Connection>();
  producer.on('client:broker:connect', ({ connection }: { connection: Connection }) => {
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
  });
  const topicOf = (type: string) => `${topicPrefix}.${type}`;
  const refusals = new Map<string, string>();
  let prepared = false;
  let dropped = false;

  const look = (topics: readonly string[]) => producer.metadata({ topics: [...topics], forceUpdate: true });

  /** All ten at once, so that consumers can subscribe before the first event of a kind. */
  const makeTopics = async (topics: readonly string[]): Promise<void> => {
    const admin = new Admin(common);
    try {
      await admin.createTopics({ topics: [...topics] }).catch((error) => {
        for (const [topic, reason] of refusedTopics(error, topics)) refusals.set(topic, reason);
      });
      const made = topics.filter((topic) => !refusals.has(topic));
      for (let looks = 0; made.length > 0 && looks < newTopics.looks && !dropped; looks += 1) {
        if (await hasLeaders(admin, made)) return;
        await sleep(newTopics.everyMs);
      }
    } finally {
      admin.close().catch(() => {});
    }
  };

  /** Metadata names leaders before they know of it themselves; only they can say where their partitions end. */
  const hasLeaders = async (admin: Admin, topics: readonly string[]): Promise<boolean> => {
    try {
      const known = (await look(topics)).topics;
      const timestamp = ListOffsetTimestamps.LATEST;
      await admin.listOffsets({
        topics: topics.map((name) => ({
          name,
          partitions: (known.get(name)?.partitions ?? []).map((_, partitionIndex) => ({
            partitionIndex,
            timestamp,
          })),
        })),
      });
      return true;
    } catch {
      return false;
    }
  };

  const prepare = async (): Promise<void> => {
    const topics = webhookEvents.map(topicOf);
    try {
      await look(topics);
    } catch (error) {
      // Whatever else is wrong shows when something is sent, and keeps nothing from being sent elsewhere.
      if (isUnknownTopic(error)) await makeTopics(topics);
    }
    prepared = true;
  };

  const problemOf = (topic: string, error: unknown): string => {
    if (!isUnknownTopic(error)) return `cannot be used: ${reasonOf(error)}`;
    const refusal = refusals.get(topic);
    return `does not exist${refusal ? ` and could not be created (${refusal})` : ''}; create it`;
  };

  const send = async (messages: readonly Message[]): Promise<void> => {
    if (!prepared) await prepare();
    const topics = [...new Set(messages.map(({ type }) => topicOf(type)))];
    for (const topic of topics) {
      // Fresh enough knowledge is not asked for again; each by itself, so that the complaint has a name.
      await producer.metadata({ topics: [topic] }).catch((error) => {
        throw isRefusal(error) ? new Error(`the topic ${topic} ${problemOf(topic, error)}`) : error;
      });
    }
    if (dropped) throw new Error('the connection was given up');
    await producer.send({
      acks: ProduceAcks.ALL,
      messages: messages.map(({ type, organizationId, envelope }) => ({
        topic: topicOf(type),
        key: organizationId,
        value: envelope,
      })),
    });
  };

  let underWay: Promise<void> = Promise.resolve();
  return {
    send(messages) {
      underWay = send(messages);
      return underWay;
    },
    drop() {
      dropped = true;
      for (const connection of connections) connection.socket?.destroy();
      // Closed under its hands the client would trip; so when it is done.
      underWay
        .catch(() => {})
        .then(() => producer.close(true))
        .catch(() => {});
    },
  };
}
