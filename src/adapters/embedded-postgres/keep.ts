/** For `countersign dev`: a server that ends on its own is started again where it was, and whoever was connected finds it. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './embedded-postgres.ts';

const attempts = 20;
/** What is left of the old one must go first. */
const pauseMs = 500;

export async function keepEmbeddedPostgres(
  options: Omit<EmbeddedPostgresOptions, 'onEnd'>,
): Promise<Pick<EmbeddedPostgres, 'url' | 'stop'>> {
  const { settings = {}, say = () => {} } = options;
  let stopping = false;
  let reviving: Promise<void> | undefined;
  const onEnd = () => {
    reviving = revive();
  };
  let running = await startEmbeddedPostgres({ ...options, onEnd });
  const { url } = running;

  const revive = async () => {
    const here = { ...settings, port: new URL(url).port };
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      await sleep(pauseMs);
      if (stopping) return;
      try {
        running = await startEmbeddedPostgres({ ...options, settings: here, onEnd });
        return say('PostgreSQL was started again');
      } catch (error) {
        if (attempt === attempts) say(`PostgreSQL cannot be started again: ${(error as Error).message}`);
      }
    }
  };

  return {
    url,
    async stop() {
      stopping = true;
      await reviving;
      await running.stop();
    },
  };
}
