/** Looks at the brokers once, without publishing or creating anything, for `countersign doctor`. */
import type { KafkaOptions } from './kafka.ts';
import { isNotFound, type NatsOptions, serversOf } from './nats.ts';

const connectTimeoutMs = 3_000;
const requestTimeoutMs = 8_000;

/** The topics with our prefix. */
export async function probeKafka(options: KafkaOptions): Promise<string[]> {
  const [{ Admin }, { clientOptions }] = await Promise.all([
    import('@platformatic/kafka'),
    import('./kafka.ts'),
  ]);
  const admin = new Admin(clientOptions(options, 'countersign-doctor'));
  try {
    const topics = await admin.listTopics();
    return topics.filter((topic) => topic.startsWith(`${options.topicPrefix}.`));
  } finally {
    admin.close().catch(() => {});
  }
}

/** The JetStream stream that takes our subjects; undefined when there is none yet. */
export async function probeNats(options: NatsOptions): Promise<string | undefined> {
  const [{ connect }, { jetstreamManager }] = await Promise.all([
    import('@nats-io/transport-node'),
    import('@nats-io/jetstream'),
  ]);
  const connection = await connect({
    ...serversOf(options),
    name: 'countersign-doctor',
    reconnect: false,
    timeout: connectTimeoutMs,
    noAsyncTraces: true,
  });
  try {
    const manager = await jetstreamManager(connection, { timeout: requestTimeoutMs });
    return await manager.streams.find(`${options.subjectPrefix}.any.agent.created`);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  } finally {
    await connection.close().catch(() => {});
  }
}
