/**
 * The broker port on NATS: subject `<prefix>.<organization>.<event type>` on JetStream. The message id is the event id, by which the
 * server drops duplicates. An existing stream for these subjects is used unchanged; without one, the adapter creates it.
 * The client neither reconnects nor queues: the publisher retries a failed batch. Its connection is closed, so that its end never
 * arrives without its beginning.
 */
import {
  JetStreamApiError,
  type JetStreamClient,
  jetstream,
  jetstreamManager,
  type PubAck,
  StorageType,
} from '@nats-io/jetstream';
import { connect, type NatsConnection, nanos } from '@nats-io/transport-node';
import { type Broker, BrokerUnavailable, type Message } from '../../kernel/ports/broker.ts';
import { withTimeout } from './timeout.ts';

export interface NatsOptions {
  /** nats:// or tls://, with `user:password@` or `token@` where the server requires it. */
  readonly urls: readonly string[];
  readonly subjectPrefix: string;
  /** For a certificate that is not signed by a public authority. */
  readonly ca?: string | undefined;
}

const connectTimeoutMs = 3_000;
const requestTimeoutMs = 8_000;
const publishTimeoutMs = 25_000;
/** Settings of the stream that the adapter creates; an operator who wants others creates it first. */
const retentionMs = 7 * 86_400_000;
const deduplicationMs = 10 * 60_000;

const codes = { streamNotFound: 10_059, wrongLastMessage: 10_070 };

interface NatsSession {
  readonly connection: NatsConnection;
  readonly jetstream: JetStreamClient;
}

export function createNatsBroker(options: NatsOptions): Broker {
  let opening: Promise<NatsSession> | undefined;

  const drop = () => {
    opening?.then(({ connection }) => connection.close()).catch(() => {});
    opening = undefined;
  };

  const publish = async (messages: readonly Message[]): Promise<void> => {
    // A connection lost between batches is replaced; the batch does not fail.
    if ((await opening?.catch(() => undefined))?.connection.isClosed()) opening = undefined;
    opening ??= openSession(options);
    await publishInOrder((await opening).jetstream, options.subjectPrefix, messages);
  };

  return {
    async publish(messages, stopping) {
      try {
        await withTimeout(publish(messages), publishTimeoutMs, stopping);
      } catch (error) {
        drop();
        throw new BrokerUnavailable(reasonOf(error));
      }
    },
    async close() {
      drop();
    },
  };
}

async function openSession(options: NatsOptions): Promise<NatsSession> {
  const connection = await connect({
    ...serversOf(options),
    name: 'countersign',
    reconnect: false,
    timeout: connectTimeoutMs,
    pingInterval: 20_000,
    noAsyncTraces: true,
  });
  try {
    await ensureStream(connection, options.subjectPrefix);
    return { connection, jetstream: jetstream(connection, { timeout: requestTimeoutMs }) };
  } catch (error) {
    connection.close().catch(() => {});
    throw error;
  }
}

/** Without the credentials in the URLs, since the client repeats its server addresses in errors. */
export function serversOf({ urls, ca }: Pick<NatsOptions, 'urls' | 'ca'>) {
  const parsed = urls.map((url) => new URL(url));
  const { username = '', password = '' } = parsed.find((url) => url.username !== '') ?? {};
  const withTls = ca !== undefined || parsed.some(({ protocol }) => protocol === 'tls:');
  return {
    servers: parsed.map(({ hostname, port }) => `${hostname}:${port || 4222}`),
    ...(password !== '' && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    ...(password === '' && username !== '' && { token: decodeURIComponent(username) }),
    ...(withTls && { tls: ca === undefined ? {} : { ca } }),
  };
}

async function ensureStream(connection: NatsConnection, prefix: string): Promise<void> {
  const manager = await jetstreamManager(connection, { timeout: requestTimeoutMs });
  const exists = await manager.streams.find(`${prefix}.any.agent.created`).then(
    () => true,
    (error) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );
  if (exists) return;
  const name = prefix.toUpperCase().replaceAll('.', '_');
  try {
    await manager.streams.add({
      name,
      subjects: [`${prefix}.>`],
      storage: StorageType.File,
      max_age: nanos(retentionMs),
      duplicate_window: nanos(deduplicationMs),
    });
  } catch (error) {
    throw new Error(
      `no stream accepts the subjects ${prefix}.>, and ${name} could not be created (${reasonOf(error)}); create one`,
    );
  }
}

/**
 * Publishes the first message alone, then the others concurrently, each on the condition that its predecessor is the last message
 * of the stream. When one is not stored, none after it is, and the rest starts again from there. Other writers on the stream cost
 * speed, not order.
 */
async function publishInOrder(
  client: JetStreamClient,
  prefix: string,
  messages: readonly Message[],
): Promise<void> {
  const put = async (message: Message, previous?: Message): Promise<PubAck> => {
    const subject = `${prefix}.${message.organizationId}.${message.type}`;
    const expect = previous ? { expect: { lastMsgID: previous.eventId } } : {};
    try {
      return await client.publish(subject, message.envelope, { msgID: message.eventId, ...expect });
    } catch (error) {
      // The client's name for a subject without a stream.
      if ((error as Error).name === 'JetStreamNotEnabled')
        throw new Error(`no stream accepts the subject ${subject}`);
      throw error;
    }
  };

  let batchSize = messages.length;
  for (let stored = 0; stored < messages.length; ) {
    const [first, ...others] = messages.slice(stored, stored + batchSize) as [Message, ...Message[]];
    await put(first);
    const answers = await Promise.allSettled(
      others.map((message, index) => put(message, messages[stored + index])),
    );
    const failure = answers.find((answer) => answer.status === 'rejected');
    if (failure && !isWrongLastMessage(failure.reason)) throw failure.reason;
    stored += 1 + (failure ? answers.indexOf(failure) : others.length);
    batchSize = failure ? Math.max(2, Math.ceil(batchSize / 2)) : batchSize * 2;
  }
}

export const isNotFound = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code === codes.streamNotFound;

const isWrongLastMessage = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code === codes.wrongLastMessage;

const reasonOf = (error: unknown): string => {
  const { message, name, cause } = error as Error;
  return [
    message || name,
    ...(cause instanceof Error && cause.message !== message ? [cause.message] : []),
  ].join(': ');
};
