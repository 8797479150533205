import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { routeAt as at, startHttp } from '../../../test/support/bare-http.ts';
import { startApp, startOfMinute } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';
import Type from '../../contract/json-schema.ts';
import { deepFreeze } from '../data/shared-values.ts';
import type { HttpDeps } from './server.ts';

const logs: string[] = [];

const startServer = (config: Partial<HttpDeps['config']> = {}) =>
  startHttp([probe, upload, fault, long, shared, other, lacking], config, logs);

const probe = at('GET', '/probe', Type.Object({ ip: Type.String() }), ({ origin }) => ({
  ip: origin.ipAddress,
  clientSecret: 'cs_hunter2',
}));

const upload = at('POST', '/upload', Type.Object({}), () => ({}));

const faults: Record<string, unknown> = {
  error: new Error('password=hunter2'),
  text: 'password=hunter2',
  nothing: null,
  library: Object.assign(new Error('password=hunter2'), { statusCode: 503 }),
  shape: undefined,
};
const fault = at('GET', '/fault', Type.Object({ needed: Type.String() }), ({ headers }) => {
  const name = String(headers['x-fault']);
  if (name === 'shape') return { password: 'hunter2' };
  throw name === 'refusal' ? Object.assign(new Error('password=hunter2'), { statusCode: 422 }) : faults[name];
});

const long = at('GET', '/long', Type.Object({ text: Type.String() }), () => ({
  text: 'x'.repeat(40_000_000),
}));

let read = 0;
const Texts = Type.Object({ texts: Type.Array(Type.String()) });
/** Counts how often it is serialized. */
const inTwoRoutes = deepFreeze({
  get texts() {
    read += 1;
    return ['one'];
  },
  clientSecret: 'cs_hunter2',
});
const shared = at('GET', '/shared', Texts, () => inTwoRoutes);
const other = at('GET', '/other', Type.Object({}), () => inTwoRoutes);
const lacking = at('GET', '/lacking', Type.Object({ needed: Type.String() }), () =>
  deepFreeze({ password: 'hunter2' }),
);

describe('a deep-frozen response body', () => {
  it('200 is serialized once per route, by the response schema of the route', async () => {
    const { server } = await startServer();
    const before = read;
    for (let round = 0; round < 3; round += 1) {
      const answer = await server.inject('/shared');
      assert.equal(answer.body, '{"texts":["one"]}');
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
    }
    assert.equal(read, before + 1);
    assert.equal((await server.inject('/other')).body, '{}');
    const head = await server.inject({ method: 'HEAD', url: '/shared' });
    assert.deepEqual([head.statusCode, head.headers['content-length'], head.body], [200, '17', '']);
  });

  it('500 INTERNAL_SERVER_ERROR each time when it does not match the response schema', async () => {
    const { server } = await startServer();
    for (let round = 0; round < 2; round += 1) {
      const answer = await server.inject('/lacking');
      assert.deepEqual([answer.statusCode, answer.json().code], [500, 'INTERNAL_SERVER_ERROR']);
      assert.doesNotMatch(answer.body, /hunter2/);
    }
  });
});

describe('a client that does not read its response', () => {
  it('is disconnected after the idle timeout', async () => {
    const { server } = await startServer({ idleTimeoutMs: 500 });
    await server.listen({ host: '127.0.0.1', port: 0 });
    const { port } = server.server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    after(() => socket.destroy());
    socket.on('error', () => {});
    socket.pause();
    socket.write('GET /long HTTP/1.1\r\nhost: x\r\n\r\n');
    const open = () =>
      new Promise<number>((resolve, reject) =>
        server.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      );
    await until('it is connected', async () => (await open()) === 1 || undefined);
    await until('it is disconnected', async () => (await open()) === 0 || undefined);
  });
});

describe('a request id', () => {
  const cases: [string, string | undefined, boolean][] = [
    ['generated when there is none', undefined, false],
    ['taken from the client', 'trace-0a1b.2c_3d', true],
    ['generated when the client’s is too short', 'abc', false],
    ['generated when the client’s is too long', 'a'.repeat(65), false],
    ['generated when the client’s could break a log line', 'abcdefgh"}{', false],
  ];
  for (const [what, given, taken] of cases) {
    it(`is ${what}`, async () => {
      const { server } = await startServer();
      const headers = given === undefined ? {} : { 'x-request-id': given };
      const answer = await server.inject({ url: '/probe', headers });
      const id = String(answer.headers['x-request-id']);
      assert.equal(id === given, taken);
      if (!taken) assert.match(id, /^[0-9a-f-]{36}$/);
    });
  }
});

describe('CORS_ORIGIN', () => {
  const listed = ['https://console.example', 'https://other.example'];
  const cases: [string, HttpDeps['config']['corsOrigin'], string, string | undefined][] = [
    ['absent: no origin', undefined, 'https://console.example', undefined],
    ['a list: the listed origins', listed, 'https://other.example', 'https://other.example'],
    ['a list: no other origin', listed, 'https://evil.example', undefined],
    ['a list: no origin with a listed one as its prefix', listed, 'https://console.example.evil', undefined],
    ['*: every origin', '*', 'https://evil.example', '*'],
  ];
  for (const [what, corsOrigin, origin, allowed] of cases) {
    it(`${what}, for calls and preflights`, async () => {
      const { server } = await startServer({ corsOrigin });
      const call = await server.inject({ url: '/probe', headers: { origin } });
      const preflight = await server.inject({
        method: 'OPTIONS',
        url: '/probe',
        headers: { origin, 'access-control-request-method': 'GET' },
      });
      for (const { headers } of [call, preflight]) {
        assert.equal(headers['access-control-allow-origin'], allowed);
        assert.equal(headers['access-control-allow-credentials'], undefined);
        assert.ok(headers['x-ratelimit-remaining']);
      }
      assert.equal(preflight.statusCode, corsOrigin === undefined ? 405 : 204);
      assert.match(
        String(call.headers['access-control-expose-headers']),
        corsOrigin === undefined ? /^undefined$/ : /X-RateLimit-Reset.*WWW-Authenticate/,
      );
    });
  }
  it('404 carries the CORS headers too', async () => {
    const { server } = await startServer({ corsOrigin: '*' });
    const answer = await server.inject({ url: '/nowhere', headers: { origin: 'https://a.example' } });
    assert.equal(answer.statusCode, 404);
    assert.equal(answer.headers['access-control-allow-origin'], '*');
  });
});

describe('TRUST_PROXY', () => {
  it('X-Forwarded-For is normalized; a value that is no address opens no rate window', async () => {
    const t = await startApp({ TRUST_PROXY: '127.0.0.0/8', RATE_LIMIT_PER_MINUTE: '1000' });
    const remaining = async (forwarded: string) => {
      const { headers } = await t.call('GET', '/health', { headers: { 'x-forwarded-for': forwarded } });
      return Number(headers['x-ratelimit-remaining']);
    };
    startOfMinute(t.clock);
    const first = await remaining('203.0.113.9');
    for (const [index, same] of [
      '203.0.113.9:80',
      '::ffff:203.0.113.9',
      '[::ffff:203.0.113.9]:443',
    ].entries()) {
      assert.equal(await remaining(same), first - index - 1, same);
    }
    const network = await remaining('2001:db8:0:1::1');
    assert.equal(await remaining('[2001:DB8:0000:1:ffff::2]:443'), network - 1, 'the same IPv6 network');
    assert.equal(await remaining('2001:db8:0:2::1'), network, 'another network');
    const own = await remaining('garbage');
    assert.equal(await remaining('x'.repeat(5_000)), own - 1);
    assert.equal(await remaining('999.1.1.1'), own - 2);
  });
  const cases: [string, string[] | undefined, string, string][] = [
    ['absent: X-Forwarded-For is ignored', undefined, '203.0.113.9', '127.0.0.1'],
    ['set: X-Forwarded-For of an untrusted proxy is ignored', ['10.0.0.0/8'], '203.0.113.9', '127.0.0.1'],
    ['set: the hop before the proxy is the client', ['127.0.0.0/8'], '203.0.113.9', '203.0.113.9'],
    [
      'set: values that the client itself sent are ignored',
      ['127.0.0.0/8'],
      '127.9.9.9, 198.51.100.1, 203.0.113.9',
      '203.0.113.9',
    ],
  ];
  for (const [what, trustProxy, forwardedFor, ip] of cases) {
    it(what, async () => {
      const { server } = await startServer({ trustProxy });
      const headers = { 'x-forwarded-for': forwardedFor, 'x-real-ip': '9.9.9.9', forwarded: 'for=9.9.9.9' };
      assert.deepEqual((await server.inject({ url: '/probe', headers })).json(), { ip });
    });
  }
  it('set or not: Host and X-Forwarded-Host do not change the issuer', async () => {
    for (const changes of [{}, { TRUST_PROXY: '127.0.0.0/8' }]) {
      const t = await startApp(changes);
      const { clientId: client_id, clientSecret: client_secret } = t.operator;
      const headers = {
        host: 'evil.example',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        'x-forwarded-for': '203.0.113.9',
      };
      const { json } = await t.askToken(
        { grant_type: 'client_credentials', client_id, client_secret },
        headers,
      );
      const { iss, aud } = decodeJwt(json.access_token);
      assert.deepEqual([iss, aud], ['http://countersign.test', 'http://countersign.test']);
      assert.doesNotMatch((await t.call('GET', '/openapi.json', { headers })).text, /evil\.example/);
      const [row] = await t.sql<{ ip_address: string }>(
        "select ip_address from audit_events where action = 'token.issued'",
      );
      assert.equal(row?.ip_address, 'TRUST_PROXY' in changes ? '203.0.113.9' : '127.0.0.1');
    }
  });
});

describe('a server error', () => {
  for (const name of Object.keys(faults)) {
    it(`500 INTERNAL_SERVER_ERROR and a log line for ${name}; the response reveals nothing`, async () => {
      const { server } = await startServer();
      logs.length = 0;
      const answer = await server.inject({
        url: '/fault',
        headers: { 'x-fault': name, 'x-request-id': 'trace-me-1' },
      });
      assert.equal(answer.statusCode, 500);
      assert.deepEqual(Object.keys(answer.json()), ['code', 'message']);
      assert.equal(answer.json().code, 'INTERNAL_SERVER_ERROR');
      assert.doesNotMatch(JSON.stringify([answer.headers, answer.body]), /hunter2|needed|\.ts\b/);
      assert.equal(answer.headers['x-request-id'], 'trace-me-1');
      assert.ok(answer.headers['x-ratelimit-limit']);
      assert.equal(logs.length, 1);
      assert.equal(JSON.parse(logs[0] ?? '').requestId, 'trace-me-1');
    });
  }
  it('400 without the message of a library error that has a 4xx status', async () => {
    const { server } = await startServer();
    const answer = await server.inject({ url: '/fault', headers: { 'x-fault': 'refusal' } });
    assert.equal(answer.statusCode, 400);
    assert.doesNotMatch(answer.body, /hunter2/);
  });
});

it('undeclared fields are removed from responses', async () => {
  const { server } = await startServer();
  const answer = await server.inject({ url: '/probe' });
  assert.deepEqual(answer.json(), { ip: '127.0.0.1' });
});

it('Strict-Transport-Security is sent only when BASE_URL is https', async () => {
  for (const [baseUrl, expected] of [
    ['http://countersign.test', undefined],
    ['https://countersign.test', 'max-age=31536000'],
  ] as const) {
    const { server } = await startServer({ baseUrl });
    assert.equal((await server.inject('/probe')).headers['strict-transport-security'], expected);
  }
});

it('HEAD answers what GET answers, without the body', async () => {
  const { server } = await startServer();
  const [head, whole] = [
    await server.inject({ method: 'HEAD', url: '/probe' }),
    await server.inject('/probe'),
  ];
  assert.equal(head.statusCode, 200);
  assert.equal(head.body, '');
  assert.equal(head.headers['content-length'], whole.headers['content-length']);
});

it('408 REQUEST_TIMEOUT for slow clients; silent and refused ones are disconnected; others are served', async () => {
  const { server } = await startServer();
  logs.length = 0;
  const { port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }));
  // Node checks every two seconds; the timeouts can be changed on the running server.
  Object.assign(server.server, { headersTimeout: 100, requestTimeout: 100 });
  let accepted = 0;
  server.server.on('connection', () => (accepted += 1));
  const received = [
    'GET /probe HTTP/1.1\r\nHost: a\r\nX-Slo',
    'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    '\x01garbage\r\n\r\n',
    'POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    ...Array.from({ length: 200 }, () => ''),
  ].map((bytes) => {
    // A client that never closes its side.
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    after(() => socket.destroy());
    const received = { text: '' };
    socket.on('data', (chunk) => (received.text += chunk)).on('error', () => {});
    socket.write(bytes);
    return received;
  });
  const open = () => new Promise<number>((done) => server.server.getConnections((_, count) => done(count)));
  await until('all are accepted', async () => accepted >= received.length || undefined);
  assert.equal((await fetch(`http://127.0.0.1:${port}/probe`)).status, 200);
  await until('all but that one are closed', async () => (await open()) <= 1 || undefined);
  const [headers, body, garbage, early] = received.map(({ text }) => text);
  for (const text of [headers, body]) {
    assert.match(text ?? '', /^HTTP\/1.1 408 [\s\S]*x-ratelimit-reset: \d+[\s\S]*"code":"REQUEST_TIMEOUT"/);
  }
  assert.match(garbage ?? '', /^HTTP\/1.1 400 /);
  assert.deepEqual(early?.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 404'], 'answered once, before its body');
  assert.deepEqual(logs, []);
});

const untilRefused = (port: string) =>
  until('new connections are refused', async () => {
    const socket = connect(Number(port), '127.0.0.1');
    after(() => socket.destroy());
    return once(socket, 'connect').then(
      () => undefined,
      ({ code }) => code === 'ECONNREFUSED',
    );
  });

it('close refuses new connections and still answers open ones', async () => {
  const http = await startServer({ closeDelayMs: 5_000 });
  const { port } = new URL(await http.server.listen({ host: '127.0.0.1', port: 0 }));
  const ask = (socket: Socket) => {
    socket.write('GET /probe HTTP/1.1\r\nHost: a\r\n\r\n');
    return once(socket, 'data').then(String);
  };
  const idle = connect(Number(port), '127.0.0.1');
  assert.match(await ask(idle), /connection: keep-alive/i);
  const closed = http.close();
  await untilRefused(port);
  assert.match(await ask(idle), /^HTTP\/1.1 200 [\s\S]*connection: close/i);
  await closed;
});

describe('a URL that the router cannot parse', () => {
  const half = 'POST /%zz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

  it('400 once, also when the rest of the request is malformed, and counted', async () => {
    const http = await startServer();
    const { port } = new URL(await http.server.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect(Number(port), '127.0.0.1');
    let received = '';
    socket.on('data', (bytes) => (received += bytes)).on('error', () => {});
    socket.write(half);
    await until('it is answered', async () => received.includes('VALIDATION_ERROR') || undefined);
    socket.write('no chunk\r\n');
    await once(socket, 'close');
    assert.deepEqual(received.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 400']);
    assert.match(
      await http.metrics.text(),
      /service_http_requests_total\{method="POST",route="unmatched",status_code="400"\} 1/,
    );
  });

  it('400 with Connection: close while the server closes', async () => {
    const http = await startServer({ closeDelayMs: 5_000 });
    const { port } = new URL(await http.server.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect(Number(port), '127.0.0.1');
    await once(socket, 'connect');
    const closed = http.close();
    await untilRefused(port);
    socket.write('GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n');
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1.1 400 [\s\S]*\r\nconnection: close\r\n/i);
    await closed;
  });
});

it('close does not wait for clients that have their response and never finish their request', async () => {
  const http = await startServer();
  const { port } = new URL(await http.server.listen({ host: '127.0.0.1', port: 0 }));
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
  socket.write('POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n123');
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1.1 404 /);
  // Longer than a test may take.
  await http.close(600_000);
});
