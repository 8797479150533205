/** The HTTP server alone, with routes of the test. */
import { after } from 'node:test';
import type Type from 'typebox';
import { createMemoryKv } from '../../src/adapters/kv/memory-kv.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { createRateWindow } from '../../src/kernel/http/rate-window.ts';
import { open, type RouteEntry, rootRoute } from '../../src/kernel/http/route.ts';
import { createHttp, type HttpDeps } from '../../src/kernel/http/server.ts';
import { anonymous } from '../../src/kernel/ids.ts';
import { createLog } from '../../src/kernel/observability/log.ts';
import { createMetrics } from '../../src/kernel/observability/metrics.ts';

export async function startHttp(
  routes: readonly RouteEntry[],
  config: Partial<HttpDeps['config']> = {},
  logs: string[] = [],
  others: Partial<Omit<HttpDeps, 'config' | 'log' | 'routes' | 'metrics'>> = {},
) {
  const kv = createMemoryKv(systemClock);
  const metrics = createMetrics();
  const http = await createHttp({
    config: {
      trustProxy: undefined,
      corsOrigin: undefined,
      baseUrl: 'http://countersign.test',
      logRequests: 'none',
      logRequestsShare: 1,
      ...config,
    },
    log: createLog({ level: 'warn', destination: { write: (line) => void logs.push(line) } }),
    metrics,
    window: createRateWindow({ kv, fallback: kv, clock: systemClock, perMinute: 100_000 }),
    authenticate: async () => undefined,
    authenticateClient: async () => undefined,
    authenticateSession: async () => undefined,
    explainNoSession: () => ({ message: 'Sign in to the console first.' }),
    origin: 'http://countersign.test',
    explain: async () => ({ ...anonymous, reason: 'unknown here' }),
    possession: {
      algorithms: [],
      nonce: () => 'nonce',
      checkProof: async () => ({ error: 'invalid_dpop_proof', reason: 'unknown here' }),
      useProof: async () => undefined,
    },
    recordRefusal: async () => {},
    requirePermission: async () => {},
    countCall() {},
    writeQueue: (_organization, work) => work(),
    readQueues: { heavy: (_organization, work) => work(), long: (_organization, work) => work() },
    requests: { count: 0 },
    idempotencyKeys: { find: async () => undefined, storeResponse: async () => {} },
    resourceMetadata: 'http://countersign.test/metadata',
    ...others,
    routes,
  });
  after(() => http.close());
  return { ...http, metrics };
}

export const routeAt = (
  method: 'GET' | 'POST',
  url: string,
  response: ReturnType<typeof Type.Object>,
  handler: RouteEntry['handler'],
) =>
  rootRoute({
    id: url,
    summary: url,
    tag: 'Test',
    method,
    url,
    access: open(),
    limit: 'caller',
    schema: { response: { 200: response } },
    handler,
  });
