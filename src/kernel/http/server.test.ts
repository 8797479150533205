import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import Type from 'typebox';
import { routeAt as at, startHttp } from '../../../test/support/bare-http.ts';
import { startApp, startOfMinute } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';
import { deepFreeze } from '../data/deep-freeze.ts';
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
/** Tells how often its text is made. */
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

describe('an answer that cannot change', () => {
  it('is made into text once, with what its route shows and nothing else', async () => {
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

  it('is a fault of ours each time when it is not what its route shows', async () => {
    const { server } = await startServer();
    for (let round = 0; round < 2; round += 1) {
      const answer = await server.inject('/lacking');
      assert.deepEqual([answer.statusCode, answer.json().code], [500, 'INTERNAL_SERVER_ERROR']);
      assert.doesNotMatch(answer.body, /hunter2/);
    }
  });
});

describe('a client that does not read its answer', () => {
  it('is let go of', async () => {
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
    await until('it is gone', async () => (await open()) === 0 || undefined);
  });
});

describe('a request id', () => {
  const cases: [string, string | undefined, boolean][] = [
    ['made here when there is none', undefined, false],
    ['taken from the client', 'trace-0a1b.2c_3d', true],
    ['made here when the client’s is too short', 'abc', false],
    ['made here when the client’s is too long', 'a'.repeat(65), false],
    ['made here when the client’s could break a log line', 'abcdefgh"}{', false],
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
    ['absent: nobody', undefined, 'https://console.example', undefined],
    ['a list: those on it', listed, 'https://other.example', 'https://other.example'],
    ['a list: nobody else', listed, 'https://evil.example', undefined],
    ['a list: nobody whose name merely begins alike', listed, 'https://console.example.evil', undefined],
    ['*: everybody', '*', 'https://evil.example', '*'],
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
      assert.equal(preflight.statusCode, corsOrigin === undefined ? 404 : 204);
      assert.match(
        String(call.headers['access-control-expose-headers']),
        corsOrigin === undefined ? /^undefined$/ : /X-RateLimit-Reset.*WWW-Authenticate/,
      );
    });
  }
  it('refusals are readable from there too', async () => {
    const { server } = await startServer({ corsOrigin: '*' });
    const answer = await server.inject({ url: '/nowhere', headers: { origin: 'https://a.example' } });
    assert.equal(answer.statusCode, 404);
    assert.equal(answer.headers['access-control-allow-origin'], '*');
  });
});

describe('TRUST_PROXY', () => {
  it('what a proxy writes is brought to a plain address, and what is none gets no window of its own', async () => {
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
    assert.equal(await remaining('[2001:DB8:0000:1:ffff::2]:443'), network - 1, 'the same network of IPv6');
    assert.equal(await remaining('2001:db8:0:2::1'), network, 'another');
    const own = await remaining('garbage');
    assert.equal(await remaining('x'.repeat(5_000)), own - 1);
    assert.equal(await remaining('999.1.1.1'), own - 2);
  });
  const cases: [string, string[] | undefined, string, string][] = [
    ['absent: X-Forwarded-For is ignored', undefined, '203.0.113.9', '127.0.0.1'],
    ['set: an untrusted hop is not believed', ['10.0.0.0/8'], '203.0.113.9', '127.0.0.1'],
    ['set: the hop before the proxy is the client', ['127.0.0.0/8'], '203.0.113.9', '203.0.113.9'],
    [
      'set: what the client itself wrote is not',
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
  it('neither way do Host and X-Forwarded-Host decide who we are', async () => {
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

describe('a fault of ours', () => {
  for (const name of Object.keys(faults)) {
    it(`500 INTERNAL_SERVER_ERROR and a log line, for ${name}, telling nothing`, async () => {
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
  it('keeps its words to itself even when it claims to be the client’s', async () => {
    const { server } = await startServer();
    const answer = await server.inject({ url: '/fault', headers: { 'x-fault': 'refusal' } });
    assert.equal(answer.statusCode, 400);
    assert.doesNotMatch(answer.body, /hunter2/);
  });
});

it('fields that a response does not declare never leave', async () => {
  const { server } = await startServer();
  const answer = await server.inject({ url: '/probe' });
  assert.deepEqual(answer.json(), { ip: '127.0.0.1' });
});

it('browsers are told to stay on HTTPS where BASE_URL is HTTPS, and only there', async () => {
  for (const [baseUrl, told] of [
    ['http://countersign.test', undefined],
    ['https://countersign.test', 'max-age=31536000'],
  ] as const) {
    const { server } = await startServer({ baseUrl });
    assert.equal((await server.inject('/probe')).headers['strict-transport-security'], told);
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

it('408 REQUEST_TIMEOUT for slow clients; silent and refused ones are closed as well; others go on', async () => {
  const { server } = await startServer();
  logs.length = 0;
  const { port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }));
  // Node looks every two seconds; how long it waits can be changed on the running server.
  Object.assign(server.server, { headersTimeout: 100, requestTimeout: 100 });
  let accepted = 0;
  server.server.on('connection', () => (accepted += 1));
  const heard = [
    'GET /probe HTTP/1.1\r\nHost: a\r\nX-Slo',
    'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    '\x01garbage\r\n\r\n',
    'POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    ...Array.from({ length: 200 }, () => ''),
  ].map((bytes) => {
    // A client that never closes its side, whatever it is told.
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    after(() => socket.destroy());
    const heard = { text: '' };
    socket.on('data', (chunk) => (heard.text += chunk)).on('error', () => {});
    socket.write(bytes);
    return heard;
  });
  const open = () => new Promise<number>((done) => server.server.getConnections((_, count) => done(count)));
  await until('all are accepted', async () => accepted >= heard.length || undefined);
  assert.equal((await fetch(`http://127.0.0.1:${port}/probe`)).status, 200);
  await until('all but that one are closed', async () => (await open()) <= 1 || undefined);
  const [headers, body, garbage, early] = heard.map(({ text }) => text);
  for (const text of [headers, body]) {
    assert.match(text ?? '', /^HTTP\/1.1 408 [\s\S]*x-ratelimit-reset: \d+[\s\S]*"code":"REQUEST_TIMEOUT"/);
  }
  assert.match(garbage ?? '', /^HTTP\/1.1 400 /);
  assert.deepEqual(
    early?.match(/HTTP\/1.1 \d+/g),
    ['HTTP/1.1 404'],
    'answered before its body, and only then',
  );
  assert.deepEqual(logs, []);
});

it('closing lets nobody new in from that moment, and whoever was there is still answered', async () => {
  const http = await startServer({ closeDelayMs: 5_000 });
  const { port } = new URL(await http.server.listen({ host: '127.0.0.1', port: 0 }));
  const ask = (socket: Socket) => {
    socket.write('GET /probe HTTP/1.1\r\nHost: a\r\n\r\n');
    return once(socket, 'data').then(String);
  };
  const idle = connect(Number(port), '127.0.0.1');
  assert.match(await ask(idle), /connection: keep-alive/i);
  const closed = http.close();
  await assert.rejects(once(connect(Number(port), '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' });
  assert.match(await ask(idle), /^HTTP\/1.1 200 [\s\S]*connection: close/i);
  await closed;
});

describe('an address that no router can read', () => {
  const half = 'POST /%zz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

  it('is answered once, whatever becomes of the rest, and counted', async () => {
    const http = await startServer();
    const { port } = new URL(await http.server.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect(Number(port), '127.0.0.1');
    let heard = '';
    socket.on('data', (bytes) => (heard += bytes)).on('error', () => {});
    socket.write(half);
    await until('it is answered', async () => heard.includes('VALIDATION_ERROR') || undefined);
    socket.write('no chunk\r\n');
    await once(socket, 'close');
    assert.deepEqual(heard.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 400']);
    assert.match(
      await http.metrics.text(),
      /service_http_requests_total\{method="POST",route="unmatched",status_code="400"\} 1/,
    );
  });

  it('is the last that is asked on its connection when the server closes', async () => {
    const http = await startServer({ closeDelayMs: 5_000 });
    const { port } = new URL(await http.server.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect(Number(port), '127.0.0.1');
    await once(socket, 'connect');
    const closed = http.close();
    socket.write('GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n');
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1.1 400 [\s\S]*\r\nconnection: close\r\n/i);
    await closed;
  });
});

it('closing does not wait for those who have their answer and never finish what they asked', async () => {
  const http = await startServer();
  const { port } = new URL(await http.server.listen({ host: '127.0.0.1', port: 0 }));
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
  socket.write('POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n123');
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1.1 404 /);
  // Longer than a test may take.
  await http.close(600_000);
});
