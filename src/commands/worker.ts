/** `countersign worker`: the background loops without HTTP, for any number of `serve --no-worker` processes. */
import { createApp } from '../app.ts';
import { type Environment, loadConfig } from '../kernel/config/config.ts';
import { createLifecycle } from '../kernel/lifecycle.ts';
import { createLog } from '../kernel/observability/log.ts';

export async function worker(env: Environment): Promise<void> {
  const config = loadConfig(env);
  const log = createLog({ level: config.logLevel });
  const lifecycle = createLifecycle(log);
  const app = await createApp({ config, log });
  lifecycle.onStop(app.close);
  try {
    await app.prepare();
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
  app.loops.start();
  log.info('the background loops are running');
}
