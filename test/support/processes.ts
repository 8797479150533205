/** Support for WEB_CONCURRENCY tests: two serving processes under a supervisor, and requests per process. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServeOptions } from '../../src/commands/serve.ts';
import { createDatabase, environment, skipWithout, withLongConnectTimeout } from './harness.ts';
import { type Relay, throughRelay } from './peers/relay.ts';
import { authorize, makeOperator, type Service, startRedis, startServe, until } from './programs.ts';

export async function startTwoProcesses(
  t: TestContext,
  relay?: Relay,
  changes: Record<string, string> = {},
  limits?: ServeOptions['limits'],
) {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  const databaseUrl = await createDatabase();
  const url = withLongConnectTimeout(relay ? throughRelay(databaseUrl, relay) : databaseUrl);
  const env = environment(url, {
    WEB_CONCURRENCY: '2',
    REDIS_URL: redis.url,
    // One line per request, with the id of the process that answered.
    LOG_LEVEL: 'debug',
    ...changes,
  });
  const operator = await makeOperator(env);
  const service = await startServe(env, [], limits);
  await until('both processes', async () => {
    await getOnNewConnection(service, '/health');
    return requestsByProcess(service).size === 2 || undefined;
  });
  return { service, headers: await authorize(service.url, operator) };
}

/** Uses a new connection, so that each request may reach another process. */
export async function getOnNewConnection({ port }: Service, path: string, headers: object = {}) {
  const agent = new Agent({ keepAlive: false });
  const request = get({ port, host: '127.0.0.1', path, headers: { ...headers }, agent });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
}

/** Answered requests per process id. */
export function requestsByProcess({ program }: Service): Map<number, number> {
  const counts = new Map<number, number>();
  for (const line of program.output().split('\n')) {
    const pid = Number(/"pid":(\d+).*"msg":"request"/.exec(line)?.[1]);
    if (pid) counts.set(pid, (counts.get(pid) ?? 0) + 1);
  }
  return counts;
}

export const requestCount = (exposition: string, route: string) =>
  exposition
    .matchAll(/^service_http_requests_total\{(.*)\} (\d+)$/gm)
    .filter(([, labels]) => labels?.includes(`route="${route}"`))
    .reduce((sum, [, , value]) => sum + Number(value), 0);

/** Sends requests that need no database on new connections until they are refused; resolves to the outcomes. */
async function requestUntilRefused(
  service: Service,
  outcomes: Map<string, number>,
): Promise<Map<string, number>> {
  const askOn = async () => {
    for (let outcome = ''; outcome !== 'ECONNREFUSED'; ) {
      outcome = await getOnNewConnection(service, '/.well-known/jwks.json').then(
        ({ status }) => String(status),
        ({ code, message }) => code ?? message,
      );
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      await sleep(20);
    }
  };
  await Promise.all(Array.from({ length: 12 }, askOn));
  return outcomes;
}

/**
 * Stops the service while clients open connections: those it accepted are answered, the others are refused. The kernel accepts
 * connections before we do, and resets those in the backlog when we stop listening. That is rare, so it has three attempts; a defect
 * of ours would lose connections every time.
 */
export async function assertEndsUnderLoad(
  t: TestContext,
  first: Service,
  stop: (service: Service) => void,
): Promise<void> {
  let outcomes: string[] = [];
  for (let attempt = 0; attempt < 3 && outcomes.join() !== '200,ECONNREFUSED'; attempt += 1) {
    const service = attempt === 0 ? first : (await startTwoProcesses(t))?.service;
    if (!service) return;
    const counts = new Map<string, number>();
    const asked = requestUntilRefused(service, counts);
    await until('100 answers', async () => (counts.get('200') ?? 0) >= 100 || undefined);
    stop(service);
    outcomes = [...(await asked).keys()].sort();
    assert.equal(await service.program.gone(), 0, service.program.output());
  }
  assert.deepEqual(outcomes, ['200', 'ECONNREFUSED']);
}

export const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};
