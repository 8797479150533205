/** LISTEN on a dedicated connection, with reconnect. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../../kernel/observability/log.ts';

const reconnectDelayMs = 1_000;

export function listenTo(options: {
  url: string;
  channel: string;
  onNotification: () => void;
  log: Log;
}): () => Promise<void> {
  const { url, channel, onNotification, log } = options;
  const stopping = new AbortController();

  const listenOnce = async () => {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'countersign-listen',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    const disconnected = new Promise<void>((resolve) => {
      client.once('end', resolve);
      client.on('error', () => resolve());
      stopping.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    try {
      await client.connect();
      client.on('notification', onNotification);
      await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      // Notifications sent before this moment were missed.
      onNotification();
      await disconnected;
    } finally {
      await client.end().catch(() => {});
    }
  };

  const keepListening = async () => {
    while (!stopping.signal.aborted) {
      await listenOnce().catch((error) =>
        log.debug({ err: error, channel }, 'cannot listen for notifications; retrying'),
      );
      await sleep(reconnectDelayMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };

  const loop = keepListening();
  return async () => {
    stopping.abort();
    await loop;
  };
}
