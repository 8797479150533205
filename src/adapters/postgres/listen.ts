/** LISTEN, on a connection of its own, which is made again whenever it is lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../../kernel/observability/log.ts';

const againMs = 1_000;

export function listenTo(options: {
  url: string;
  channel: string;
  heard: () => void;
  log: Log;
}): () => Promise<void> {
  const { url, channel, heard, log } = options;
  const stopping = new AbortController();

  const listenOnce = async () => {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'countersign-listen',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    const over = new Promise<void>((resolve) => {
      client.once('end', resolve);
      client.on('error', () => resolve());
      stopping.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    try {
      await client.connect();
      client.on('notification', heard);
      await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      // Nobody was listening until now.
      heard();
      await over;
    } finally {
      await client.end().catch(() => {});
    }
  };

  const keepListening = async () => {
    while (!stopping.signal.aborted) {
      await listenOnce().catch((error) => log.debug({ err: error, channel }, 'cannot listen just now'));
      await sleep(againMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };

  const kept = keepListening();
  return async () => {
    stopping.abort();
    await kept;
  };
}
