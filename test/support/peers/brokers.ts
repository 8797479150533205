/** Real message brokers for tests, nats-server and Kafka, and the messages they hold. */
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { DeliverPolicy, jetstream, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { Admin, Consumer, stringDeserializers } from '@platformatic/kafka';
import { findProgram, freePort, type Program, startProgram, until } from '../programs.ts';

export interface Received {
  /** Topic, or subject. */
  readonly place: string;
  /** Key, or message id. */
  readonly key: string;
  readonly value: string;
}

export interface TestBroker {
  readonly port: number;
  readonly program: Program;
  /** All messages, in order within a partition or the stream. */
  received(): Promise<Received[]>;
  /** The number of messages. */
  count(): Promise<number>;
  /** Starts the same server again with its data. */
  restart(): Promise<void>;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

const folderFor = (name: string): string => {
  const folder = mkdtempSync(join(tmpdir(), `countersign-${name}-`));
  // Registered before the program's own end, and run before it: so after a moment for the files that it still writes.
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return folder;
};

/** Undefined when nats-server is not installed. */
export async function startNats({
  args = [],
  login = {},
  jetstream: withJetStream = true,
}: {
  args?: readonly string[];
  login?: { user?: string; pass?: string; token?: string };
  jetstream?: boolean;
} = {}): Promise<TestBroker | undefined> {
  const path = findProgram('nats-server') ?? ['/usr/sbin/nats-server'].find(existsSync);
  if (!path) return undefined;
  const port = await freePort();
  const store = folderFor('nats');
  const start = async () => {
    const program = startProgram(
      path,
      ['-a', '127.0.0.1', '-p', String(port), ...(withJetStream ? ['-js', '-sd', store] : []), ...args],
      {
        env: { PATH: process.env.PATH },
      },
    );
    const ready = async () => program.output().includes('Server is ready') || undefined;
    await until('nats-server', ready, program);
    return program;
  };
  const onStream = async <T>(
    ask: (connection: NatsConnection, stream: StreamInfo) => Promise<T>,
  ): Promise<T | undefined> => {
    const connection = await connect({ port, ...login });
    try {
      const [stream] = await (await jetstreamManager(connection)).streams.list().next();
      return stream && (await ask(connection, stream));
    } finally {
      await connection.close();
    }
  };
  return control(port, start, {
    count: async () => (await onStream(async (_, { state }) => state.messages)) ?? 0,
    received: async () => (await onStream(readStream)) ?? [],
  });
}

async function readStream(connection: NatsConnection, { config, state }: StreamInfo): Promise<Received[]> {
  const received: Received[] = [];
  if (state.messages === 0) return received;
  const consumer = await jetstream(connection).consumers.get(config.name, {
    deliver_policy: DeliverPolicy.All,
  });
  for await (const message of await consumer.consume()) {
    received.push({
      place: message.subject,
      key: message.headers?.get('Nats-Msg-Id') ?? '',
      value: message.string(),
    });
    if (received.length === state.messages) break;
  }
  return received;
}

/** Where scripts/kafka-for-tests.sh puts it. */
const kafkaFolder = (): string =>
  process.env.KAFKA_FOR_TESTS ||
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'countersign', 'kafka-4.1.0');

/** Formatted storage names no path, so it is kept beside Kafka: formatting takes a JVM, as long as starting the broker. */
async function formatStorage(kept: string, folder: string, format: () => Program): Promise<void> {
  const data = join(folder, 'data');
  if (existsSync(kept)) return cpSync(kept, data, { recursive: true });
  const formatting = format();
  if ((await formatting.gone(300_000)) !== 0) throw new Error(formatting.output());
  // Copied beside its place, so that the move is one step; a test file that runs beside this one may be first.
  const copy = mkdtempSync(`${kept}-`);
  cpSync(data, copy, { recursive: true });
  try {
    renameSync(copy, kept);
  } catch {
    rmSync(copy, { recursive: true });
  }
}

/** Undefined when Java is not installed or Kafka was not fetched. */
export async function startKafka(
  settings: Record<string, string> | ((port: number, controllerPort: number) => Record<string, string>) = {},
  login: Partial<ConstructorParameters<typeof Admin>[0]> = {},
): Promise<TestBroker | undefined> {
  const java = findProgram('java');
  const jars = kafkaFolder();
  if (!java || !existsSync(jars)) return undefined;
  const port = await freePort();
  const controllerPort = await freePort();
  const folder = folderFor('kafka');
  const file = join(folder, 'server.properties');
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `CLIENTS://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'inter.broker.listener.name': 'CLIENTS',
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,CLIENTS:PLAINTEXT',
    'log.dirs': join(folder, 'data'),
    'num.partitions': '3',
    'auto.create.topics.enable': 'false',
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '1',
    'group.initial.rebalance.delay.ms': '0',
    ...(typeof settings === 'function' ? settings(port, controllerPort) : settings),
  };
  writeFileSync(
    file,
    Object.entries(properties)
      .map((pair) => pair.join('='))
      .join('\n'),
  );
  const run = (...args: string[]) =>
    startProgram(
      java,
      ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', join(jars, '*'), ...args],
      {
        env: { PATH: process.env.PATH },
        cwd: folder,
      },
    );
  await formatStorage(`${jars}-formatted`, folder, () =>
    run('kafka.tools.StorageTool', 'format', '-t', 'MkU3OEVBNTcwNTJENDM2Qg', '-c', file),
  );

  const common = { clientId: 'tests', bootstrapBrokers: [`127.0.0.1:${port}`], retries: 0, ...login };
  const listTopics = async (): Promise<string[]> => {
    const admin = new Admin(common);
    try {
      return await admin.listTopics();
    } finally {
      await admin.close();
    }
  };
  const start = async () => {
    const program = run('kafka.Kafka', file);
    await until('kafka', async () => (await listTopics()) && true, program);
    return program;
  };
  const onTopics = async <T>(
    ask: (consumer: StringConsumer, topics: string[], count: number) => Promise<T>,
  ): Promise<T | undefined> => {
    const topics = await until('the topics', listTopics);
    if (topics.length === 0) return undefined;
    const consumer = new Consumer({
      ...common,
      retries: 20,
      retryDelay: 250,
      groupId: `tests-${performance.now()}`,
      deserializers: stringDeserializers,
    });
    try {
      const ends = [...(await consumer.listOffsets({ topics })).values()].flat();
      return await ask(
        consumer,
        topics,
        ends.reduce((sum, end) => sum + Number(end), 0),
      );
    } finally {
      await consumer.close(true);
    }
  };
  return control(port, start, {
    count: async () => (await onTopics(async (_consumer, _topics, count) => count)) ?? 0,
    received: async () => (await onTopics(readTopics)) ?? [],
  });
}

type StringConsumer = Consumer<string, string, string, string>;

async function readTopics(consumer: StringConsumer, topics: string[], count: number): Promise<Received[]> {
  const received: Received[] = [];
  if (count === 0) return received;
  const stream = await consumer.consume({ topics, mode: 'earliest', autocommit: false, maxWaitTime: 200 });
  for await (const { topic, key, value } of stream) {
    received.push({ place: topic, key, value });
    if (received.length === count) break;
  }
  return received;
}

async function control(
  port: number,
  start: () => Promise<Program>,
  look: Pick<TestBroker, 'count' | 'received'>,
): Promise<TestBroker> {
  let program = await start();
  return {
    port,
    get program() {
      return program;
    },
    ...look,
    async restart() {
      program = await start();
    },
    async kill(signal = 'SIGKILL') {
      program.kill(signal);
      await program.ended();
    },
  };
}

/** As a subscriber who knows ids sees it: repeats left out. */
export const withoutRepeats = (received: readonly Received[]): Received[] => {
  const seen = new Set<string>();
  return received.filter(({ value }) => {
    const { id } = JSON.parse(value);
    return !seen.has(id) && seen.add(id);
  });
};
