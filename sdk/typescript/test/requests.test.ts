/** Requests with a token to servers that misbehave: retries, redirects, refusals. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type ClientOptions, ConnectionError } from '../src/sdk.ts';
import {
  type Handler,
  issue,
  json,
  listenLocally,
  startMisbehaving,
  tokenPath,
} from './misbehaving-server.ts';

/** A server that issues tokens, and answers as told elsewhere. */
const startApi = (t: TestContext, handle: Handler, changes: Partial<ClientOptions> = {}) =>
  startMisbehaving(
    t,
    (request, response, count) =>
      request.path === tokenPath ? issue(response, count) : handle(request, response, count),
    changes,
  );

const unauthorized = { 'www-authenticate': 'Bearer realm="x", error="invalid_token"' };

describe('api', () => {
  it('401 invalid_token: one retry with a new token', async (t) => {
    const { client, seen } = await startApi(t, ({ headers }, response) =>
      headers.authorization === 'Bearer token-2'
        ? json(response, 200, { agentId: 'a' })
        : json(response, 401, { code: 'UNAUTHORIZED' }, unauthorized),
    );
    assert.equal((await client.api.getAgent({ agentId: 'a' })).agentId, 'a');
    assert.deepEqual(
      seen.map(({ headers }) => headers.authorization),
      [undefined, 'Bearer token-1', undefined, 'Bearer token-2'],
    );
  });

  it('401 invalid_token again: an error', async (t) => {
    const { client, countOf } = await startApi(t, (_, response) =>
      json(response, 401, { code: 'UNAUTHORIZED', message: 'no' }, unauthorized),
    );
    await assert.rejects(client.api.getAgent({ agentId: 'a' }), { status: 401, code: 'UNAUTHORIZED' });
    assert.equal(countOf('/api/v1/agents/a'), 2);
    assert.equal(countOf(tokenPath), 2);
  });

  it('401 of fifty concurrent calls: one new token', async (t) => {
    const { client, countOf } = await startApi(t, ({ headers }, response) =>
      headers.authorization === 'Bearer token-2'
        ? json(response, 200, {})
        : json(response, 401, {}, unauthorized),
    );
    await Promise.all(Array.from({ length: 50 }, () => client.api.getAgent({ agentId: 'a' })));
    assert.equal(countOf(tokenPath), 2);
  });

  it('401 for another reason, and 403: no retry', async (t) => {
    for (const [status, headers] of [
      [401, {}],
      [403, { 'www-authenticate': 'Bearer error="insufficient_scope"' }],
    ] as const) {
      const { client, seen } = await startApi(t, (_, response) => json(response, status, {}, headers));
      await assert.rejects(client.api.listAgents(), { status, code: `HTTP_${status}` });
      assert.equal(seen.length, 2);
    }
  });

  it('503 and a dropped connection: retries where the work may be done twice', async (t) => {
    for (const fail of ['503', 'drop'])
      for (const [id, times] of [
        ['getAgent', 3],
        ['decommissionAgent', 3],
        ['generateCredential', 3],
        ['updateAgent', 1],
        ['rotateCredential', 1],
      ] as const) {
        const { client, seen } = await startApi(t, (_, response, count) => {
          if (count === 3) return json(response, 200, {});
          return fail === 'drop' ? response.destroy() : json(response, 503, {}, { 'retry-after': '1' });
        });
        const done = client.api[id]({
          agentId: 'a',
          credentialId: 'c',
          ...(id === 'getAgent' ? {} : { body: {} }),
        } as never);
        await (times === 3 ? done : assert.rejects(done));
        assert.equal(seen.length - 1, times, `${id} ${fail}`);
        const keys = new Set(seen.slice(1).map(({ headers }) => headers['idempotency-key']));
        assert.equal(keys.size, 1, 'the same key each time');
        assert.equal(keys.has(undefined), id !== 'generateCredential');
      }
  });

  it('429: every operation is sent again', async (t) => {
    const { client, time } = await startApi(t, (_, response, count) =>
      count === 1 ? json(response, 429, {}, { 'retry-after': '3' }) : json(response, 200, { owner: 'x' }),
    );
    assert.equal((await client.api.updateAgent({ agentId: 'a', body: { owner: 'x' } })).owner, 'x');
    assert.deepEqual(time.slept, [3_000]);
  });

  it('invalid_response for HTML and for a redirect, which gets no token', async (t) => {
    const elsewhere = await listenLocally(t, (_, response) => json(response, 200, {}));
    const html = await startApi(t, (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    );
    await assert.rejects(html.client.api.listAgents(), {
      code: 'invalid_response',
      message: /sent no JSON \(text\/html\); is it the address of Countersign\?/,
    });
    const redirect = await startApi(t, (_, response) =>
      response.writeHead(302, { location: elsewhere.url }).end(),
    );
    await assert.rejects(redirect.client.api.listAgents(), { code: 'invalid_response', message: /redirect/ });
    assert.equal(elsewhere.seen.length, 0);
  });

  it('a list whose pages never end is read as far as the caller reads', async (t) => {
    const { client, seen } = await startApi(t, (_, response) =>
      json(response, 200, { data: [{ agentId: 'a' }], total: 1e9, page: 1, limit: 1 }),
    );
    let count = 0;
    for await (const _ of client.api.listAgents.all()) if (++count === 5) break;
    assert.equal(seen.length - 1, 5);
    const wrong = await startApi(t, (_, response) => json(response, 200, {}));
    await assert.rejects(wrong.client.api.listAgents.all().next(), /no pages/);
  });

  it('aborts with the signal, while it waits, too', async (t) => {
    const controller = new AbortController();
    const { client } = await startApi(
      t,
      (_, response) => {
        json(response, 429, {}, { 'retry-after': '60' });
        setTimeout(() => controller.abort(new Error('enough')), 50);
      },
      { platform: { now: Date.now, sleep: undefined as never } },
    );
    await assert.rejects(client.api.listAgents({}, { signal: controller.signal }), /enough/);
  });
});

describe('fetch', () => {
  const handleFetch =
    (to: (path: string) => { status?: number; location?: string }): Handler =>
    ({ path }, response) => {
      const { status = 200, location } = to(path);
      response.writeHead(status, location === undefined ? {} : { location }).end('ok');
    };

  it('follows redirects with the token below the resource only, never to another origin', async (t) => {
    const elsewhere = await listenLocally(t, (_, response) => response.end('elsewhere'));
    const api = await listenLocally(
      t,
      handleFetch((path) => {
        if (path === '/v1/old') return { status: 301, location: '/v1/new' };
        if (path === '/v1/out') return { status: 302, location: '/admin' };
        if (path === '/v1/away') return { status: 307, location: `${elsewhere.url}/x` };
        return path === '/v1/loop' ? { status: 302, location: '/v1/loop' } : {};
      }),
    );
    const { client } = await startApi(t, () => {}, { resources: [`${api.url}/v1`] });
    const pathsOf = (seen: typeof api.seen) =>
      seen.splice(0).map(({ path, headers }) => [path, headers.authorization]);

    assert.equal(await (await client.fetch(`${api.url}/v1/old`)).text(), 'ok');
    assert.deepEqual(pathsOf(api.seen), [
      ['/v1/old', 'Bearer token-1'],
      ['/v1/new', 'Bearer token-1'],
    ]);
    await client.fetch(`${api.url}/v1/out`);
    assert.deepEqual(pathsOf(api.seen), [
      ['/v1/out', 'Bearer token-1'],
      ['/admin', undefined],
    ]);
    const away = await client.fetch(`${api.url}/v1/away`, {
      headers: { authorization: 'mine', 'x-note': '1' },
    });
    assert.equal(await away.text(), 'elsewhere');
    assert.deepEqual(pathsOf(elsewhere.seen), [['/x', undefined]]);
    await assert.rejects(client.fetch(`${api.url}/v1/loop`), ConnectionError);
    assert.equal(api.seen.splice(0).filter(({ path }) => path === '/v1/loop').length, 6);

    await assert.rejects(client.fetch(`${api.url}/v1/old`, { redirect: 'error' }), ConnectionError);
    assert.equal((await client.fetch(`${api.url}/v1/old`, { redirect: 'manual' })).status, 301);
  });

  it('a redirect to another origin drops the headers, also on the way back', async (t) => {
    const away = await listenLocally(t, (_, response) =>
      response.writeHead(302, { location: `${api.url}/end` }).end(),
    );
    const api = await listenLocally(
      t,
      handleFetch((path) => {
        if (path === '/start') return { status: 303, location: '/on' };
        return path === '/on' ? { status: 302, location: `${away.url}/x` } : {};
      }),
    );
    const { client } = await startApi(t, () => {}, { resources: [api.url] });
    const headers = {
      ...{ accept: 'text/plain', 'user-agent': 'agent', cookie: 'a=b', 'x-api-key': 'k' },
      ...{ 'proxy-authorization': 'p', 'content-type': 'text/plain', 'content-language': 'en' },
    };
    await client.fetch(`${api.url}/start`, { method: 'POST', body: 'x', headers });
    const sent = [...api.seen, ...away.seen].map(({ path, headers: got }) => [
      path,
      ...Object.keys(headers).filter((name) => name in got),
    ]);
    const kept = ['accept', 'user-agent'];
    const secrets = ['cookie', 'x-api-key', 'proxy-authorization'];
    assert.deepEqual(sent, [
      ['/start', ...kept, ...secrets, 'content-type', 'content-language'],
      ['/on', ...kept, ...secrets],
      ['/end', ...kept],
      ['/x', ...kept],
    ]);
  });

  it('a redirect does not repeat a body, and does not lead to plain http', async (t) => {
    const api = await listenLocally(
      t,
      handleFetch((path) => {
        if (path === '/done') return { status: 303, location: '/result' };
        if (path === '/plain') return { status: 302, location: 'http://plain.example/' };
        return path === '/result' ? {} : { status: 308, location: '/result' };
      }),
    );
    const { client } = await startApi(t, () => {}, { resources: [api.url] });
    await assert.rejects(client.fetch(`${api.url}/moved`, { method: 'POST', body: 'x' }), ConnectionError);
    assert.equal((await client.fetch(`${api.url}/done`, { method: 'POST', body: 'x' })).status, 200);
    assert.deepEqual(
      api.seen.map(({ method, path, body }) => [method, path, body]),
      [
        ['POST', '/moved', 'x'],
        ['POST', '/done', 'x'],
        ['GET', '/result', ''],
      ],
    );
    await assert.rejects(client.fetch(`${api.url}/plain`), /must start with https/);
  });

  it('no token to plain http, other schemes, or an address with a password', async (t) => {
    const { client, seen } = await startApi(t, () => {}, { resources: ['https://api.example'] });
    for (const url of ['http://api.example/', 'ftp://api.example', 'https://a:b@api.example', '/orders', ''])
      await assert.rejects(client.fetch(url, { resource: 'https://api.example' }), TypeError);
    for (const url of [
      'https://api.example.evil/',
      'https://evil.example/https://api.example',
      'https://api.example:8443/',
    ])
      await assert.rejects(client.fetch(url), /no API covers/);
    assert.equal(seen.length, 0, 'not even a token was asked for');
  });

  it('a named resource must cover the address, unless `origin` says where its server is', async (t) => {
    const api = await listenLocally(
      t,
      handleFetch((path) => (path === '/v1/out' ? { status: 302, location: '/v2' } : {})),
    );
    const { client, seen } = await startApi(t, () => {});
    const resource = `${api.url}/v1`;
    const elsewhere = { resource: 'https://api.example/v1' };
    const [status, orders] = [`${api.url}/status`, `${api.url}/v1/orders`];
    await assert.rejects(client.fetch(orders, elsewhere), /does not cover .*name it as `origin`/);
    await assert.rejects(client.fetch(orders, { resource: 'urn:orders' }), /does not cover/);
    for (const path of ['/status', '/v1x', '/v1/../admin', '/v1/..%2Fadmin', '/v1/%2e%2e%5cadmin'])
      await assert.rejects(client.fetch(`${api.url}${path}`, { resource }), /does not cover/);
    for (const origin of ['https://api.example', 'http://plain.example', `${api.url}/v1`, ''])
      await assert.rejects(client.fetch(status, { ...elsewhere, origin }), TypeError);
    await assert.rejects(client.fetch(orders, { origin: api.url }), /origin needs the `resource`/);
    assert.equal(seen.length + api.seen.length, 0, 'not even a token was asked for');

    await client.fetch(`${api.url}/v1/out`, { resource });
    await client.fetch(status, { ...elsewhere, origin: api.url });
    await client.fetch(`${api.url}/v1/out`, { ...elsewhere, origin: `${api.url}/` });
    assert.deepEqual(
      api.seen.map(({ path, headers }) => [path, headers.authorization]),
      [
        ['/v1/out', 'Bearer token-1'],
        ['/v2', undefined],
        ['/status', 'Bearer token-2'],
        ['/v1/out', 'Bearer token-2'],
        ['/v2', 'Bearer token-2'],
      ],
    );
  });

  it('the longest identifier that covers the address', async (t) => {
    const api = await listenLocally(t, (_, response) => response.end());
    const { client, seen } = await startApi(t, () => {}, {
      resources: [api.url, `${api.url}/orders/archive`, `${api.url}/orders/`],
    });
    for (const path of [
      '/orders/archive/7',
      '/orders/archived',
      '/orders',
      '/orders/../users',
      '/orders%2farchive',
    ])
      await client.fetch(`${api.url}${path}`);
    assert.deepEqual(
      seen.map(({ body }) => new URLSearchParams(body).get('resource')?.slice(api.url.length)),
      ['/orders/archive', '/orders/', ''],
    );
    assert.deepEqual(
      api.seen.map(({ headers }) => headers.authorization?.slice('Bearer token-'.length)),
      ['1', '2', '2', '3', '3'],
    );
  });

  it('answers with the last response when retries do not help', async (t) => {
    const api = await listenLocally(t, (_, response) =>
      response.writeHead(503, { 'retry-after': '2' }).end('busy'),
    );
    const { client, time } = await startApi(t, () => {}, { resources: [api.url] });
    const response = await client.fetch(api.url);
    assert.deepEqual([response.status, await response.text()], [503, 'busy']);
    assert.deepEqual(time.slept, [2_000, 2_000, 2_000]);
  });

  it('sends a body again after 401 and 429, a stream never', async (t) => {
    const api = await listenLocally(t, (_, response, count) => {
      if (count === 1 || count === 4) return json(response, 401, {}, unauthorized);
      return count === 2 ? json(response, 429, {}, { 'retry-after': '0' }) : response.end();
    });
    const { client } = await startApi(t, () => {}, { resources: [api.url] });
    assert.equal((await client.fetch(api.url, { method: 'POST', body: 'text' })).status, 200);
    const stream = () => ({
      method: 'POST',
      body: new Blob(['stream']).stream(),
      duplex: 'half' as const,
    });
    assert.equal((await client.fetch(api.url, stream())).status, 401);
    assert.equal((await client.fetch(api.url, stream())).status, 200, 'with a new token');
    assert.deepEqual(
      api.seen.map(({ body, headers }) => [body, headers.authorization]),
      [
        ['text', 'Bearer token-1'],
        ['text', 'Bearer token-2'],
        ['text', 'Bearer token-2'],
        ['stream', 'Bearer token-2'],
        ['stream', 'Bearer token-3'],
      ],
    );
  });

  it('wrong options are no network error', async (t) => {
    const { client, seen } = await startApi(t, () => {}, { resources: ['https://api.example'] });
    for (const init of [{ body: 'x' }, { method: 'a b' }, { headers: { 'a b': 'c' } }])
      await assert.rejects(client.fetch('https://api.example', init), TypeError);
    assert.equal(seen.length, 0);
  });

  const bodyEndsWithSignal = async (t: TestContext): Promise<void> => {
    const api = await listenLocally(t, (_, response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    });
    const { client } = await startApi(t, () => {}, { resources: [api.url], retry: { timeoutSeconds: 0.3 } });
    const controller = new AbortController();
    const response = await client.fetch(api.url, { signal: controller.signal });
    const started = performance.now();
    await assert.rejects(async () => {
      for await (const _ of response.body ?? [])
        if (performance.now() - started > 600) controller.abort(new Error('enough'));
    }, /enough/);
  };

  it(
    'a body is read as it arrives, after the timeout of the request, and ends with the signal',
    bodyEndsWithSignal,
  );

  it('the same without AbortSignal.any, which Node.js 20.0 lacks', async (t) => {
    const { any } = AbortSignal;
    t.after(() => Object.assign(AbortSignal, { any }));
    Object.assign(AbortSignal, { any: undefined });
    await bodyEndsWithSignal(t);
  });
});
