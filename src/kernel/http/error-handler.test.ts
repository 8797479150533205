import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routeAt, startHttp } from '../../../test/support/bare-http.ts';
import Type from '../../contract/json-schema.ts';
import { createFairQueue } from '../concurrency/fair-queue.ts';

const ok = Type.Object({});

describe('a full queue', () => {
  it('503 SERVICE_UNAVAILABLE with Retry-After and a message about overload; one log line per second names it', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const queue = createFairQueue({ concurrency: 1, maxQueue: 1 });
    const logs: string[] = [];
    const queued = routeAt('GET', '/queued', ok, () => queue('one key', () => released.then(() => ({}))));
    const { server } = await startHttp([queued], {}, logs);
    const get = async () => server.inject('/queued');
    const accepted = [get(), get()];
    const refused = await Promise.all([get(), get()]);
    for (const response of refused) {
      assert.equal(response.statusCode, 503);
      assert.equal(response.headers['retry-after'], '1');
      const { code, message } = response.json();
      assert.equal(code, 'SERVICE_UNAVAILABLE');
      assert.match(message, /overloaded: too many requests are queued/);
    }
    const lines = logs.map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ level, route, msg }) => [level, route, msg]),
      [[40, '/queued', 'overloaded: a queue is full; requests are refused with 503']],
    );
    release();
    for (const response of await Promise.all(accepted)) assert.equal(response.statusCode, 200);
  });
});

describe('415 UNSUPPORTED_MEDIA_TYPE', () => {
  const json = { ...routeAt('POST', '/json', ok, () => ({})), schema: { body: ok, response: { 200: ok } } };
  const form = { ...json, id: '/form', url: '/form', path: '/form', accepts: 'form' as const };
  for (const [url, sent, read] of [
    ['/json', 'application/x-www-form-urlencoded', 'application/json'],
    ['/json', 'text/plain', 'application/json'],
    ['/form', 'application/json', 'application/x-www-form-urlencoded'],
  ] as const)
    it(`names ${read} when ${sent} is sent to an operation that reads ${read}`, async () => {
      const { server } = await startHttp([json, form]);
      const response = await server.inject({
        method: 'POST',
        url,
        headers: { 'content-type': sent },
        payload: 'a=b',
      });
      assert.equal(response.statusCode, 415);
      assert.deepEqual(response.json(), {
        code: 'UNSUPPORTED_MEDIA_TYPE',
        message: `This operation reads ${read} only; send that Content-Type.`,
      });
    });
});
