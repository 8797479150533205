/**
 * Prints the events that a broker has, and new ones, until Ctrl-C:
 *   node docs/guides/local-consumer.mjs nats://127.0.0.1:4222
 *   node docs/guides/local-consumer.mjs 127.0.0.1:9092        (Kafka)
 * It uses the client libraries of this checkout, and the default prefix `countersign`.
 */
import { randomUUID } from 'node:crypto';

const address = process.argv[2] ?? '';
const print = (where, event) =>
  console.log(`${event.timestamp} ${event.type} ${event.data.agentId} from ${where}`);

async function readNats() {
  const { jetstream } = await import('@nats-io/jetstream');
  const { connect } = await import('@nats-io/transport-node');
  const connection = await connect({ servers: address });
  const consumer = await jetstream(connection).consumers.get('COUNTERSIGN');
  for await (const message of await consumer.consume()) print(message.subject, message.json());
}

async function readKafka() {
  const { Admin, Consumer, stringDeserializers } = await import('@platformatic/kafka');
  const connection = { clientId: 'local-consumer', bootstrapBrokers: [address] };
  const admin = new Admin(connection);
  const topics = (await admin.listTopics()).filter((topic) => topic.startsWith('countersign.'));
  await admin.close();
  if (topics.length === 0) throw new Error('there are no topics yet: cause an event first');
  // A group of its own reads everything from the start.
  const consumer = new Consumer({ ...connection, groupId: randomUUID(), deserializers: stringDeserializers });
  const stream = await consumer.consume({ topics, mode: 'earliest', autocommit: false });
  for await (const { topic, value } of stream) print(topic, JSON.parse(value));
}

await (address.startsWith('nats:') ? readNats() : readKafka());
