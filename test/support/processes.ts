/** Support for WEB_CONCURRENCY tests: two serving processes under a supervisor, and requests per process. */
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { ServeOptions } from '../../src/commands/serve.ts';
import { createDatabase, environment, skipWithout } from './harness.ts';
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
  const env = environment(relay ? throughRelay(databaseUrl, relay) : databaseUrl, {
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
