/** `countersign serve`: HTTP and (without --no-worker) the background loops, in one process or several. */
import cluster from 'node:cluster';
import { lookup } from 'node:dns/promises';
import type { App } from '../app.ts';
import { type Config, type Environment, loadConfig } from '../kernel/config/config.ts';
import { createLifecycle, type Lifecycle } from '../kernel/lifecycle.ts';
import { createLog, type Log } from '../kernel/observability/log.ts';
import { CommandError } from './command-error.ts';
import { supervise } from './supervise.ts';
import { answerRequests, requestMergedMetrics, stopOnMessage, waitForStopMessage } from './supervised.ts';

export interface ServeOptions {
  readonly worker: boolean;
}

export async function serve(env: Environment, options: ServeOptions): Promise<void> {
  const config = loadConfig(env);
  const log = createLog({ level: config.logLevel });
  const lifecycle = createLifecycle(log);
  if (cluster.isPrimary) warnOfFreePlans(config, log);
  if (config.webConcurrency > 1 && cluster.isPrimary) return supervise(config, log, lifecycle);
  if (cluster.isWorker) stopOnMessage(lifecycle);
  await startServer(config, log, lifecycle, options);
  log.info({ baseUrl: config.baseUrl, port: config.port, worker: options.worker }, 'Countersign is ready');
}

/** On a single-tenant instance NODE_ENV alone decides whether plans cost money, and it is easily forgotten. */
function warnOfFreePlans({ stripeSecretKey, embeddedBilling, billingAllowEmbedded }: Config, log: Log): void {
  if (stripeSecretKey || !embeddedBilling || billingAllowEmbedded) return;
  log.warn(
    'organizations can choose any plan without paying: STRIPE_SECRET_KEY is not set and NODE_ENV is not production; set NODE_ENV=production, or BILLING_ALLOW_EMBEDDED=true to allow it',
  );
}

/** The start that `serve` and `dev` share, once the variables are set. */
export async function startServer(
  config: Config,
  log: Log,
  lifecycle: Lifecycle,
  {
    worker,
    beforeListening = async () => {},
  }: ServeOptions & { beforeListening?: (app: App) => Promise<void> },
): Promise<App> {
  // Imported here: the supervisor and a refused configuration do not need it, and it takes half of the start time.
  const { createApp } = await import('../app.ts');
  const app = await createApp({
    config,
    log,
    ...(cluster.isWorker && { metricsText: requestMergedMetrics }),
  });
  lifecycle.onStop(app.close);
  if (cluster.isWorker) answerRequests(app.metrics, app.http.server.server);
  try {
    await app.prepare();
    await beforeListening(app);
    await listen(app, config);
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
  if (cluster.isWorker) lifecycle.onStop(waitForStopMessage);
  app.loops.start(worker ? 'all' : 'inEveryProcess');
  return app;
}

async function listen(app: App, { host, port }: Config): Promise<void> {
  try {
    await app.http.server.listen({ host: await singleAddress(host), port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new CommandError(`port ${port} is already in use; choose another with PORT (or dev --port)`);
    if (code === 'EACCES')
      throw new CommandError(`this user may not listen on port ${port}; set PORT to a number above 1023`);
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
      throw new CommandError(
        `HOST=${host} is not an address of this machine; use 0.0.0.0 for all interfaces or 127.0.0.1 for this machine only`,
      );
    throw error;
  }
}

/** For `localhost` Fastify would open a second server for the second address, without our handling of connections. */
const singleAddress = async (host: string): Promise<string> =>
  host === 'localhost' ? (await lookup(host, { order: 'ipv4first' })).address : host;
