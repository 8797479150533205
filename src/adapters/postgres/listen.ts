/** LISTEN on a dedicated connection, with reconnect. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../../kernel/observability/log.ts';
import { connectTimeoutOf, createClient, endWithoutWaiting } from './client.ts';
import type { Hosts } from './hosts.ts';

const reconnectDelayMs = 1_000;

export function listenTo(options: {
  hosts: Hosts;
  channel: string;
  onNotification: () => void;
  log: Log;
}): () => Promise<void> {
  const { hosts, channel, onNotification, log } = options;
  const stopping = new AbortController();

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
      client.on('notification', onNotification);
      await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      // Notifications sent before this moment were missed.
      onNotification();
      await disconnected;
    } finally {
      stopWatching();
      endWithoutWaiting(client);
    }
  };

  const keepListening = async () => {
    while (!stopping.signal.aborted) {
      await listenOnce().catch((error) => {
        hosts.suspect();
        log.debug({ err: error, channel }, 'cannot listen for notifications; retrying');
      });
      await sleep(reconnectDelayMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };

  const loop = keepListening();
  return async () => {
    stopping.abort();
    await loop;
  };
}
