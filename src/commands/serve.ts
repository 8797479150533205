/** `countersign serve`: HTTP and, unless told otherwise, the background loops, in one process or several. */
import cluster from 'node:cluster';
import { lookup } from 'node:dns/promises';
import { type App, createApp } from '../app.ts';
import { type Config, type Environment, loadConfig } from '../kernel/config/config.ts';
import { createLifecycle, type Lifecycle } from '../kernel/lifecycle.ts';
import { createLog, type Log } from '../kernel/observability/log.ts';
import { Refusal } from './refusal.ts';
import { supervise } from './supervise.ts';
import { answerSupervisor, askSupervisorForMetrics, leaveInTurn, obeySupervisor } from './supervised.ts';

export interface ServeOptions {
  readonly worker: boolean;
}

export async function serve(env: Environment, options: ServeOptions): Promise<void> {
  const config = loadConfig(env);
  const log = createLog({ level: config.logLevel });
  const lifecycle = createLifecycle(log);
  if (cluster.isPrimary) warnOfFreePlans(config, log);
  if (config.webConcurrency > 1 && cluster.isPrimary) return supervise(config, log, lifecycle);
  if (cluster.isWorker) obeySupervisor(lifecycle);
  await startServer(config, log, lifecycle, options);
  log.info({ baseUrl: config.baseUrl, port: config.port, worker: options.worker }, 'Countersign is ready');
}

/** On a single-tenant instance NODE_ENV alone decides, and it is easily forgotten. */
function warnOfFreePlans({ stripeSecretKey, embeddedBilling, billingAllowEmbedded }: Config, log: Log): void {
  if (stripeSecretKey || !embeddedBilling || billingAllowEmbedded) return;
  log.warn(
    'plans can be had without paying: there is no Stripe, and NODE_ENV is not production; set NODE_ENV=production, or BILLING_ALLOW_EMBEDDED=true if that is meant',
  );
}

/** What `serve` and `dev` have in common: everything, once the variables are there. */
export async function startServer(
  config: Config,
  log: Log,
  lifecycle: Lifecycle,
  {
    worker,
    beforeListening = async () => {},
  }: ServeOptions & { beforeListening?: (app: App) => Promise<void> },
): Promise<App> {
  const app = await createApp({
    config,
    log,
    ...(cluster.isWorker && { metricsText: askSupervisorForMetrics }),
  });
  lifecycle.onStop(app.close);
  if (cluster.isWorker) answerSupervisor(app.metrics, app.http.server.server);
  try {
    await app.prepare();
    await beforeListening(app);
    await listen(app, config);
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
  if (cluster.isWorker) lifecycle.onStop(leaveInTurn);
  app.loops.start(worker ? 'all' : 'inEveryProcess');
  return app;
}

async function listen(app: App, { host, port }: Config): Promise<void> {
  try {
    await app.http.server.listen({ host: await oneAddress(host), port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new Refusal(`port ${port} is in use already; choose another with PORT (or dev --port)`);
    if (code === 'EACCES')
      throw new Refusal(`this user may not listen on port ${port}; choose one above 1023 with PORT`);
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
      throw new Refusal(`HOST=${host} is not an address of this machine`);
    throw error;
  }
}

/** By this name the framework would open a second server for the second address, without our handling of connections. */
const oneAddress = async (host: string): Promise<string> =>
  host === 'localhost' ? (await lookup(host, { order: 'ipv4first' })).address : host;
