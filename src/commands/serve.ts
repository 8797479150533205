/** `countersign serve`: HTTP and (without --no-worker) the background loops, in one process or several. */
import cluster from 'node:cluster';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTracingOn } from '../adapters/opentelemetry/settings.ts';
import { startTracing } from '../adapters/opentelemetry/start-tracing.ts';
import type { App, AppOptions } from '../app.ts';
import { type Config, hasOpenMetrics, loadConfig } from '../kernel/config/config.ts';
import { probePort } from '../kernel/http/connections/listeners.ts';
import { createLifecycle, type Lifecycle } from '../kernel/lifecycle.ts';
import { createLog, type Log } from '../kernel/observability/log.ts';
import { ensureConsole, ensureDocs } from './build-pages.ts';
import { CommandError } from './command-error.ts';
import type { Io } from './io.ts';
import { retryOverloaded } from './retry-overloaded.ts';
import { supervise } from './supervise.ts';
import { answerRequests, requestMergedMetrics, stopOnMessage, waitForStopMessage } from './supervised.ts';

export interface ServeOptions {
  readonly worker: boolean;
  /** For tests, which must not wait as long; no option of the command sets it. */
  readonly limits?: {
    readonly shutdownTimeoutMs?: number;
    readonly unread?: AppOptions['unread'];
  };
}

export async function serve(io: Io, options: ServeOptions): Promise<void> {
  const { env } = io;
  const config = loadConfig(env);
  const log = createLog({ level: config.logLevel, traceIds: isTracingOn(env) });
  const lifecycle = createLifecycle(log, io, {
    delayMs: config.shutdownDelaySeconds * 1_000,
    timeoutMs: options.limits?.shutdownTimeoutMs,
  });
  if (cluster.isPrimary) {
    warnOfFreePlans(config, log);
    warnOfOpenMetrics(config, log);
    if (config.consoleBuild) void buildPages((line) => log.warn(line));
  }
  io.exitCode = undefined;
  if (config.webConcurrency > 1 && cluster.isPrimary) return supervise(config, log, lifecycle);
  if (cluster.isWorker) stopOnMessage(lifecycle);
  const announces = cluster.isPrimary || cluster.worker?.id === 1;
  lifecycle.onStop((await startTracing(env, log, { announces })).stop);
  await startServer(config, log, lifecycle, options);
  log.info({ baseUrl: config.baseUrl, port: config.port, worker: options.worker }, 'Countersign is ready');
}

async function buildPages(say: (line: string) => void): Promise<void> {
  await ensureConsole(say);
  await ensureDocs(say);
}

/** On a single-tenant instance NODE_ENV alone decides whether plans cost money, and it is easily forgotten. */
export function warnOfFreePlans(
  { stripeSecretKey, embeddedBilling, billingAllowEmbedded }: Config,
  log: Log,
): void {
  if (stripeSecretKey || !embeddedBilling || billingAllowEmbedded) return;
  log.warn(
    'organizations can choose any plan without paying: STRIPE_SECRET_KEY is not set and NODE_ENV is not production; set NODE_ENV=production, or BILLING_ALLOW_EMBEDDED=true to allow it',
  );
}

/** Metrics have ids of organizations and clients. */
export function warnOfOpenMetrics(config: Config, log: Log): void {
  if (hasOpenMetrics(config))
    log.warn(
      '/metrics answers anyone that reaches it: METRICS_TOKEN is not set; set it, also for your monitoring',
    );
}

/** The start that `serve` and `dev` share, once the variables are set. */
export async function startServer(
  config: Config,
  log: Log,
  lifecycle: Lifecycle,
  {
    worker,
    limits,
    beforeListening = async () => {},
  }: ServeOptions & { beforeListening?: (app: App) => Promise<void> },
): Promise<App> {
  // Imported here: the supervisor and a refused configuration do not need it, and it takes half of the start time.
  const { createApp } = await import('../app.ts');
  const app = await createApp({
    config,
    log,
    unread: limits?.unread,
    planChange: async (request) => (await import('./client/apply/plan-for-caller.ts')).planForCaller(request),
    ...(cluster.isWorker && { metricsText: requestMergedMetrics }),
  });
  lifecycle.onStop(app.close);
  if (cluster.isWorker) answerRequests(app);
  try {
    await retryOverloaded(app.prepare);
    await beforeListening(app);
    await listen(app, config);
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
  lifecycle.onStop(() => stopServing(app, config));
  app.loops.start(worker ? 'all' : 'inEveryProcess');
  return app;
}

/** The load balancer sends requests until it has seen /readyz fail. The supervisor of several processes waits for all of them. */
async function stopServing(app: App, { shutdownDelaySeconds }: Config): Promise<void> {
  app.drain();
  if (cluster.isWorker) return waitForStopMessage(shutdownDelaySeconds * 1_000);
  await sleep(shutdownDelaySeconds * 1_000);
}

export async function listen(
  app: App,
  { host, port }: Pick<Config, 'host' | 'port'>,
  variable = 'PORT',
): Promise<void> {
  try {
    await app.http.listen({ host: await singleAddress(host), port });
  } catch (error) {
    throw listenProblem(error, host, port, variable);
  }
}

/** Fails as a start would fail, before anything is created. */
export async function requireFreePort(host: string, port: number): Promise<void> {
  try {
    await probePort({ host: await singleAddress(host), port });
  } catch (error) {
    throw listenProblem(error, host, port);
  }
}

function listenProblem(error: unknown, host: string, port: number, variable = 'PORT'): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new CommandError(
      `port ${port} is already in use; choose another with ${variable === 'PORT' ? 'PORT (or dev --port)' : variable}`,
    );
  if (code === 'EACCES')
    return new CommandError(
      `this user may not listen on port ${port}; set ${variable} to a number above 1023`,
    );
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new CommandError(
      `HOST=${host} is not an address of this machine; use 0.0.0.0 for all interfaces or 127.0.0.1 for this machine only`,
    );
  return error;
}

/** A name can have several addresses. For `localhost` Fastify would open a second server, without our handling of connections. */
const singleAddress = async (host: string): Promise<string> =>
  isIP(host) ? host : (await lookup(host, { order: 'ipv4first' })).address;
