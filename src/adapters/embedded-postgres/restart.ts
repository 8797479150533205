/** For `countersign dev`: restarts a server that exits unexpectedly, on the same port, so that connection pools reconnect. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './embedded-postgres.ts';

const maxAttempts = 20;
/** Gives the processes of the old server time to exit. */
const restartDelayMs = 500;

export async function startRestartingPostgres(
  options: Omit<EmbeddedPostgresOptions, 'onExit'>,
): Promise<Pick<EmbeddedPostgres, 'url' | 'stop'>> {
  const { settings = {}, print = () => {} } = options;
  let stopping = false;
  let restarting: Promise<void> | undefined;
  const onExit = () => {
    restarting = restart();
  };
  let running = await startEmbeddedPostgres({ ...options, onExit });
  const { url } = running;

  const restart = async () => {
    const samePort = { ...settings, port: new URL(url).port };
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      await sleep(restartDelayMs);
      if (stopping) return;
      try {
        running = await startEmbeddedPostgres({ ...options, settings: samePort, onExit });
        return print('PostgreSQL was restarted');
      } catch (error) {
        if (attempt === maxAttempts) print(`PostgreSQL could not be restarted: ${(error as Error).message}`);
      }
    }
  };

  return {
    url,
    async stop() {
      stopping = true;
      await restarting;
      await running.stop();
    },
  };
}
