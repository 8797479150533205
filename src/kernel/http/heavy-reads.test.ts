/** Reads with a `cost` of clients that close their connection before their turn. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, beforeEach, describe, it } from 'node:test';
import { startHttp } from '../../../test/support/bare-http.ts';
import { until } from '../../../test/support/programs.ts';
import Type from '../../contract/json-schema.ts';
import { createFairQueue } from '../concurrency/fair-queue.ts';
import { createMetrics } from '../observability/metrics.ts';
import { bearer, type ReadCost, type RouteEntry, rootRoute } from './route.ts';

const maxQueue = 3;
let reached = 0;
let release = () => {};
let released = Promise.resolve();
beforeEach(() => {
  reached = 0;
  released = new Promise((resolve) => (release = resolve));
});

const reportWith = (cost: NonNullable<RouteEntry['cost']>) =>
  rootRoute({
    id: 'report',
    summary: 'report',
    tag: 'Test',
    method: 'GET',
    url: '/report',
    access: bearer(),
    limit: 'caller',
    cost,
    schema: { query: Type.Object({ q: Type.Optional(Type.String()) }), response: { 200: Type.Object({}) } },
    async handler({ query }) {
      if (query.q === 'light') return {};
      reached += 1;
      await released;
      return {};
    },
  });

async function start(cost: NonNullable<RouteEntry['cost']> = 'heavy', queue: ReadCost = 'heavy') {
  const metrics = createMetrics();
  const logs: string[] = [];
  const http = await startHttp([reportWith(cost)], {}, logs, {
    authenticate: () => ({
      agentId: 'anna',
      organizationId: 'acme',
      organizationStatus: 'active',
      planTier: 'enterprise',
      scopes: new Set(),
      grantableScopes: new Set(),
      tokenId: 'anna',
    }),
    readQueues: {
      heavy: (_organization, work) => work(),
      long: (_organization, work) => work(),
      [queue]: createFairQueue({
        concurrency: 2,
        restFactor: 2,
        maxQueue,
        measured: { metrics, name: 'reads' },
      }),
    },
  });
  const { port } = new URL(await http.server.listen({ host: '127.0.0.1', port: 0 }));
  const send = (query = '') => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    after(() => socket.destroy());
    socket.on('error', () => {});
    socket.write(
      `GET /report${query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer anna\r\nConnection: close\r\n\r\n`,
    );
    return socket;
  };
  const statusOf = async (socket: ReturnType<typeof send>) => {
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    return Number(/^HTTP\/1.1 (\d+)/.exec(String(bytes))?.[1]);
  };
  const waiting = (count: number) =>
    until(
      `${count} wait`,
      async () =>
        (await metrics.text()).includes(`service_queue_depth{queue="reads"} ${count}\n`) || undefined,
    );
  const running = () => until('one runs', async () => reached === 1 || undefined);
  return { send, statusOf, waiting, running, logs };
}

describe('a heavy read that waits for its turn', () => {
  for (const [how, close, cost, queue] of [
    ['closed', 'destroy', 'heavy', 'heavy'],
    ['reset', 'resetAndDestroy', 'heavy', 'heavy'],
    ['closed (a long one)', 'destroy', 'long', 'long'],
    ['closed (one whose cost depends on the query)', 'destroy', () => 'heavy' as const, 'heavy'],
  ] as const)
    it(`leaves the queue when its connection is ${how}: the next read of the organization has its place`, async () => {
      const { send, statusOf, waiting, running, logs } = await start(cost, queue);
      const first = statusOf(send());
      await running();
      const aborted = Array.from({ length: maxQueue }, () => send());
      await waiting(maxQueue);
      for (const socket of aborted) socket[close]();
      await waiting(0);
      const next = statusOf(send());
      await waiting(1);
      release();
      assert.deepEqual([await first, await next], [200, 200]);
      assert.equal(reached, 2);
      assert.deepEqual(logs, []);
    });

  it('does not wait if its query makes it a light one', async () => {
    const { send, statusOf, running } = await start((query) =>
      (query as { q?: string }).q ? undefined : 'heavy',
    );
    const first = statusOf(send());
    await running();
    assert.equal(await statusOf(send('?q=light')), 200);
    release();
    assert.equal(await first, 200);
  });

  it('503 when the client has closed its sending side only; 200 when the read has begun', async () => {
    const { send, statusOf, waiting, running } = await start();
    const first = send();
    first.end();
    await running();
    const late = send();
    await waiting(1);
    const refused = statusOf(late);
    late.end();
    assert.equal(await refused, 503);
    const answered = statusOf(first);
    release();
    assert.equal(await answered, 200);
  });
});
