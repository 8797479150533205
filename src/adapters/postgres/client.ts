/** The driver's connection with the session settings that our queries rely on. */
import type { Socket } from 'node:net';
import pg from 'pg';

const connectTimeoutMs = 5_000;

/** The URL may set the driver's own parameter, as tests do on a busy machine. */
export const connectTimeoutOf = (url: string): number =>
  Number(/[?&]connectionTimeoutMillis=(\d+)/.exec(url)?.[1]) || connectTimeoutMs;

/** For an answer that should come at once, and a wait that a request can bear: 2 seconds when the connect timeout is 5. */
export const shortTimeoutOf = (url: string): number => connectTimeoutOf(url) * 0.4;

/** Not in the types of the driver. */
interface StartupMessage {
  getStartupConf(): Record<string, string>;
}

/**
 * Our queries format timestamps in the session's time zone, so it must be UTC on every connection: the canonical text of audit events
 * depends on it. The driver has no option for it. It is sent as a parameter of its own, not in `options`: PgBouncer hands it to the
 * server for each transaction, and an `options` parameter in DATABASE_URL cannot remove it.
 */
export function createClient(config: pg.ClientConfig): pg.Client {
  const client = new pg.Client(config);
  const startup = client as unknown as StartupMessage;
  const withoutTimeZone = startup.getStartupConf.bind(client);
  startup.getStartupConf = () => ({ ...withoutTimeZone(), TimeZone: 'UTC' });
  return client;
}

/** Says goodbye, and closes the socket once that is sent. A frozen host does not close its side. */
export function endWithoutWaiting(client: pg.Client): void {
  client.end().catch(() => {});
  (client.connection.stream as Socket).destroySoon();
}

/** `pg.Pool` calls it with `new`: a function that returns an object gives that object. */
export function clientOf(onCreate: (client: pg.Client) => void): NonNullable<pg.PoolConfig['Client']> {
  function create(config: pg.ClientConfig): pg.Client {
    const client = createClient(config);
    onCreate(client);
    return client;
  }
  return create as unknown as NonNullable<pg.PoolConfig['Client']>;
}

/** Routine of the server that waits for synchronous standbys. Messages are translated, this name is not. */
const replicationWait = 'SyncRepWaitForLSN';

/**
 * PostgreSQL reports a commit as done, with a warning, when the wait for a synchronous standby is cancelled, for example by the
 * statement timeout. Such a commit may be lost in a failover, so it must not be acknowledged. Calls back for each.
 */
export function onUnreplicatedCommit(client: pg.ClientBase, callback: () => void): void {
  client.on('notice', ({ routine }) => {
    if (routine === replicationWait) callback();
  });
}

/** 08007: the outcome of the transaction is unknown. */
export const unreplicated = (): Error =>
  Object.assign(new Error('no synchronous standby confirmed the commit'), { code: '08007' });
