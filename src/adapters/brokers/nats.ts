/**
 * The broker port on NATS: subject `<prefix>.<organization>.<event type>` on JetStream, message id the event id, by which the
 * server drops repeats. The stream that takes these subjects is used as it is; where there is none, one is made.
 * The client neither reconnects nor queues: a batch that fails is the publisher's, and its connection is dropped with it,
 * lest the end of it arrive without its beginning.
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
import { withDeadline } from './deadline.ts';

export interface NatsOptions {
  /** nats:// or tls://, with `user:password@` or `token@` where the server wants it. */
  readonly urls: readonly string[];
  readonly subjectPrefix: string;
  /** Where the certificate is not signed by one that Node knows. */
  readonly ca?: string | undefined;
}

const connectMs = 3_000;
const requestMs = 8_000;
const publishMs = 25_000;
/** Of the stream we make; somebody who wants otherwise makes it first. */
const keptMs = 7 * 86_400_000;
const repeatsKnownMs = 10 * 60_000;

const codes = { streamNotFound: 10_059, anotherIsLast: 10_070 };

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
    // A server that went while nothing was sent is no failure of this batch.
    if ((await opening?.catch(() => undefined))?.connection.isClosed()) opening = undefined;
    opening ??= openSession(options);
    await publishInOrder((await opening).jetstream, options.subjectPrefix, messages);
  };

  return {
    async publish(messages, stopping) {
      try {
        await withDeadline(publish(messages), publishMs, stopping);
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
    timeout: connectMs,
    pingInterval: 20_000,
    noAsyncTraces: true,
  });
  try {
    await ensureStream(connection, options.subjectPrefix);
    return { connection, jetstream: jetstream(connection, { timeout: requestMs }) };
  } catch (error) {
    connection.close().catch(() => {});
    throw error;
  }
}

/** Credentials are taken out of the addresses, which the client repeats in what it says. */
function serversOf({ urls, ca }: NatsOptions) {
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
  const manager = await jetstreamManager(connection, { timeout: requestMs });
  const taken = await manager.streams.find(`${prefix}.any.agent.created`).then(
    () => true,
    (error) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );
  if (taken) return;
  const name = prefix.toUpperCase().replaceAll('.', '_');
  try {
    await manager.streams.add({
      name,
      subjects: [`${prefix}.>`],
      storage: StorageType.File,
      max_age: nanos(keptMs),
      duplicate_window: nanos(repeatsKnownMs),
    });
  } catch (error) {
    throw new Error(
      `no stream takes the subjects ${prefix}.>, and ${name} could not be created (${reasonOf(error)}); create one`,
    );
  }
}

/**
 * All at once would be fast, one after the other is sure. So: the first alone; then the others at once, each on the
 * condition that the one before it is the last that the stream has. When one is not stored, none behind it is, and the rest
 * starts anew from there; somebody else who writes to the stream costs speed, not order.
 */
async function publishInOrder(
  client: JetStreamClient,
  prefix: string,
  messages: readonly Message[],
): Promise<void> {
  const put = async (message: Message, before?: Message): Promise<PubAck> => {
    const subject = `${prefix}.${message.organizationId}.${message.type}`;
    const expect = before ? { expect: { lastMsgID: before.eventId } } : {};
    try {
      return await client.publish(subject, message.envelope, { msgID: message.eventId, ...expect });
    } catch (error) {
      // So it calls a subject that nobody listens to.
      if ((error as Error).name === 'JetStreamNotEnabled')
        throw new Error(`no stream takes the subject ${subject}`);
      throw error;
    }
  };

  let together = messages.length;
  for (let stored = 0; stored < messages.length; ) {
    const [first, ...others] = messages.slice(stored, stored + together) as [Message, ...Message[]];
    await put(first);
    const answers = await Promise.allSettled(
      others.map((message, index) => put(message, messages[stored + index])),
    );
    const refused = answers.find((answer) => answer.status === 'rejected');
    if (refused && !isOutOfStep(refused.reason)) throw refused.reason;
    stored += 1 + (refused ? answers.indexOf(refused) : others.length);
    together = refused ? Math.max(2, Math.ceil(together / 2)) : together * 2;
  }
}

const isNotFound = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code === codes.streamNotFound;

const isOutOfStep = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code === codes.anotherIsLast;

const reasonOf = (error: unknown): string => {
  const { message, name, cause } = error as Error;
  return [
    message || name,
    ...(cause instanceof Error && cause.message !== message ? [cause.message] : []),
  ].join(': ');
};
