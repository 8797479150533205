/** LISTEN on one dedicated connection for all channels of a process, with reconnect. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../../kernel/observability/log.ts';
import { connectTimeoutOf, createClient, endWithoutWaiting } from './client.ts';
import type { Hosts } from './hosts.ts';

const reconnectDelayMs = 1_000;

type Listen = (channel: string, onNotification: () => void) => () => Promise<void>;

/** The connection opens with the first channel, and ends with the last. */
export function createListener({ hosts, log }: { readonly hosts: Hosts; readonly log: Log }): Listen {
  const listeners = new Set<{ readonly channel: string; readonly onNotification: () => void }>();
  const notify = (channel?: string) => {
    for (const listener of listeners)
      if (channel === undefined || listener.channel === channel) listener.onNotification();
  };
  const subscribe = (client: pg.Client, channel: string) =>
    client.query(`listen ${pg.escapeIdentifier(channel)}`);

  function start() {
    const stopping = new AbortController();
    let connected: pg.Client | undefined;

    const listenOnce = async () => {
      await hosts.settle();
      const url = hosts.current();
      const client = createClient({
        connectionString: url,
        application_name: 'countersign-listen',
        connectionTimeoutMillis: connectTimeoutOf(url),
        query_timeout: connectTimeoutOf(url),
        keepAlive: true,
      });
      let stopWatching = () => {};
      const disconnected = new Promise<void>((resolve) => {
        client.once('end', resolve);
        client.on('error', () => resolve());
        stopping.signal.addEventListener('abort', () => resolve(), { once: true });
        stopWatching = hosts.onSwitch(resolve);
      });
      try {
        await client.connect();
        client.on('notification', ({ channel }) => notify(channel));
        // Also reaches channels that are added while it waits.
        for (const { channel } of listeners) await subscribe(client, channel);
        connected = client;
        // Notifications sent before this moment were missed.
        notify();
        await disconnected;
      } finally {
        connected = undefined;
        stopWatching();
        endWithoutWaiting(client);
      }
    };

    const keepListening = async () => {
      while (!stopping.signal.aborted) {
        await listenOnce().catch((error) => {
          hosts.suspect();
          log.debug({ err: error }, 'cannot listen for notifications; retrying');
        });
        await sleep(reconnectDelayMs, undefined, { signal: stopping.signal }).catch(() => {});
      }
    };

    const loop = keepListening();
    return {
      add(channel: string, onNotification: () => void) {
        const client = connected;
        // After a failure the next connection listens to all channels.
        if (client) subscribe(client, channel).then(onNotification, () => endWithoutWaiting(client));
      },
      async stop() {
        stopping.abort();
        await loop;
      },
    };
  }

  let connection: ReturnType<typeof start> | undefined;
  return (channel, onNotification) => {
    const listener = { channel, onNotification };
    listeners.add(listener);
    if (connection) connection.add(channel, onNotification);
    else connection = start();
    return async () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      const last = connection;
      connection = undefined;
      await last?.stop();
    };
  };
}
