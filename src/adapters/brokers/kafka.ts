/**
 * The broker port on Kafka: topic `<prefix>.<event type>`, key the organization, so that its events of one type share a
 * partition and keep their order. The adapter neither queues nor retries: the publisher retries a failed batch. Its connections are
 * closed, so that no late part of it arrives after newer events.
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
import { failedTopics, isBrokerError, isUnknownTopic, reasonOf } from './kafka-errors.ts';
import { withTimeout } from './timeout.ts';

export interface KafkaOptions {
  readonly brokers: readonly { readonly host: string; readonly port: number }[];
  readonly topicPrefix: string;
  /** Use TLS; `ca` for a certificate that is not signed by a public authority. */
  readonly tls?: { readonly ca?: string } | undefined;
  readonly sasl?:
    | { readonly mechanism: SaslMechanism; readonly username: string; readonly password: string }
    | undefined;
}

type SaslMechanism = 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';

const connectTimeoutMs = 3_000;
const requestTimeoutMs = 8_000;
const publishTimeoutMs = 25_000;
/** How often, and for how long, to check whether new topics have leaders. */
const leaderChecks = { attempts: 20, intervalMs: 250 };

interface KafkaSession {
  send(messages: readonly Message[]): Promise<void>;
  /** Closes the connections; pending requests fail. */
  drop(): void;
}

export function createKafkaBroker(options: KafkaOptions): Broker {
  let session: KafkaSession | undefined;
  return {
    async publish(messages, stopping) {
      session ??= openSession(options);
      const current = session;
      try {
        await withTimeout(current.send(messages), publishTimeoutMs, stopping);
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

export const clientOptions = ({ brokers, tls, sasl }: KafkaOptions, clientId = 'countersign') => ({
  clientId,
  bootstrapBrokers: brokers.map((broker) => ({ ...broker })),
  connectTimeout: connectTimeoutMs,
  requestTimeout: requestTimeoutMs,
  timeout: requestTimeoutMs,
  retries: 0,
  ...(tls && { tls: { ...tls }, tlsServerName: true }),
  ...(sasl && { sasl: { ...sasl } }),
});

function openSession(options: KafkaOptions): KafkaSession {
  const { topicPrefix } = options;
  const common = clientOptions(options);
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
  const creationErrors = new Map<string, string>();
  let prepared = false;
  let dropped = false;

  const refreshMetadata = (topics: readonly string[]) =>
    producer.metadata({ topics: [...topics], forceUpdate: true });

  /** Creates all ten at once, so that consumers can subscribe before the first event of a type. */
  const createTopics = async (topics: readonly string[]): Promise<void> => {
    const admin = new Admin(common);
    try {
      await admin.createTopics({ topics: [...topics] }).catch((error) => {
        for (const [topic, reason] of failedTopics(error, topics)) creationErrors.set(topic, reason);
      });
      const created = topics.filter((topic) => !creationErrors.has(topic));
      for (let attempt = 0; created.length > 0 && attempt < leaderChecks.attempts && !dropped; attempt += 1) {
        if (await hasLeaders(admin, created)) return;
        await sleep(leaderChecks.intervalMs);
      }
    } finally {
      admin.close().catch(() => {});
    }
  };

  /** Metadata names a leader before the leader is ready; only a ready leader can list its offsets. */
  const hasLeaders = async (admin: Admin, topics: readonly string[]): Promise<boolean> => {
    try {
      const known = (await refreshMetadata(topics)).topics;
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
      await refreshMetadata(topics);
    } catch (error) {
      // Other errors appear when a message is sent, and do not block other topics.
      if (isUnknownTopic(error)) await createTopics(topics);
    }
    prepared = true;
  };

  const problemOf = (topic: string, error: unknown): string => {
    if (!isUnknownTopic(error)) return `cannot be used: ${reasonOf(error)}`;
    const reason = creationErrors.get(topic);
    return `does not exist${reason ? ` and could not be created (${reason})` : ''}; create it`;
  };

  const send = async (messages: readonly Message[]): Promise<void> => {
    if (!prepared) await prepare();
    const topics = [...new Set(messages.map(({ type }) => topicOf(type)))];
    for (const topic of topics) {
      // Served from the client's cache while fresh. One topic per call, so that the error names it.
      await producer.metadata({ topics: [topic] }).catch((error) => {
        throw isBrokerError(error) ? new Error(`the topic ${topic} ${problemOf(topic, error)}`) : error;
      });
    }
    if (dropped) throw new Error('the connection was closed');
    await producer.send({
      acks: ProduceAcks.ALL,
      messages: messages.map(({ type, organizationId, envelope }) => ({
        topic: topicOf(type),
        key: organizationId,
        value: envelope,
      })),
    });
  };

  let inFlight: Promise<void> = Promise.resolve();
  return {
    send(messages) {
      inFlight = send(messages);
      return inFlight;
    },
    drop() {
      dropped = true;
      for (const connection of connections) connection.socket?.destroy();
      // The client fails when it is closed during a send, so close it afterwards.
      inFlight
        .catch(() => {})
        .then(() => producer.close(true))
        .catch(() => {});
    },
  };
}
