/** Hostile input, through inject and on raw sockets: 4xx in the envelope, with the headers of every response. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InjectOptions } from 'fastify';
import { type Answer, newAgent, startApp } from '../../../../test/support/harness.ts';

const t = await startApp({ CORS_ORIGIN: 'https://console.example', LOG_LEVEL: 'error' });
const token = await t.token();
const { server } = t.app.http;
const { port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }));

/** The headers of every response: of our handlers, of the framework, and those written to a raw socket. */
function assertHeaders({ status, headers }: Answer) {
  assert.ok(status < 500, `${status}`);
  assert.equal(headers['x-ratelimit-limit'], '1000000');
  assert.match(String(headers['x-ratelimit-remaining']), /^\d{6}$/);
  const reset = Number(headers['x-ratelimit-reset']);
  assert.equal(reset % 60, 0);
  assert.ok(Math.abs(reset - Date.now() / 1000) <= 61);
  assert.match(String(headers['x-request-id']), /^[\w.-]{8,64}$/);
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['referrer-policy'], 'no-referrer');
  assert.match(String(headers['content-security-policy']), /default-src 'none'/);
  for (const name of ['server', 'x-powered-by']) assert.equal(headers[name], undefined);
}

function assertRefused(answer: Answer, status: number, code: string) {
  assertHeaders(answer);
  assert.equal(answer.status, status, answer.text);
  assert.match(String(answer.headers['content-type']), /^application\/json/);
  const { details, ...rest } = answer.json;
  assert.deepEqual(Object.keys(rest), ['code', 'message']);
  assert.equal(rest.code, code);
  assert.ok(rest.message.length > 0 && (details?.fields ?? []).length <= 20);
}

/** Sends raw bytes; returns every response until the server closed the connection. */
async function sendRaw(bytes: string | Buffer): Promise<Answer[]> {
  const socket = connect(Number(port), '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.on('data', (chunk) => (text += chunk)).on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  const answers: Answer[] = [];
  while (text) {
    const [head = '', rest] = [
      text.slice(0, text.indexOf('\r\n\r\n')),
      text.slice(text.indexOf('\r\n\r\n') + 4),
    ];
    const [line = '', ...fields] = head.split('\r\n');
    const headers = Object.fromEntries(
      fields.map((field) => field.split(/: (.*)/s, 2)).map(([name, value]) => [name?.toLowerCase(), value]),
    );
    const body = rest.slice(0, Number(headers['content-length'] ?? 0));
    answers.push({ status: Number(line.split(' ')[1]), headers, text: body, json: body && JSON.parse(body) });
    text = rest.slice(body.length);
  }
  return answers;
}

type CallOptions = Omit<InjectOptions, 'method' | 'url'> & { token?: string };
const json = { 'content-type': 'application/json' };
const post = (
  payload: string | Buffer,
  headers: Record<string, string> = json,
): [string, string, CallOptions] => ['POST', '/api/v1/agents', { token, payload, headers }];
const agentWith = (changes: object) => post(JSON.stringify({ ...newAgent(), ...changes }));
const list = (query: string): [string, string, CallOptions] => ['GET', `/api/v1/agents?${query}`, { token }];
const get = (url: string): [string, string, CallOptions] => ['GET', url, { token }];

const refusals: [number, string, string, [string, string, CallOptions]][] = [
  [400, 'VALIDATION_ERROR', 'the JSON is truncated', post('{"email": "a')],
  [400, 'VALIDATION_ERROR', 'the body is empty', post('')],
  [400, 'VALIDATION_ERROR', 'there is neither body nor type', ['POST', '/api/v1/agents', { token }]],
  ...['null', '[]', '7', '"text"'].map((body): (typeof refusals)[0] => [
    400,
    'VALIDATION_ERROR',
    `the body is ${body}`,
    post(body),
  ]),
  ...['null', '[]', '7', '{"x":1}'].flatMap((payload): typeof refusals => [
    [
      400,
      'VALIDATION_ERROR',
      `a body that may be left out is ${payload}`,
      ['POST', `/api/v1/agents/${randomUUID()}/credentials`, { token, payload, headers: json }],
    ],
    [
      400,
      'VALIDATION_ERROR',
      `an operation that takes no body gets ${payload}`,
      ['DELETE', `/api/v1/agents/${randomUUID()}`, { token, payload, headers: json }],
    ],
  ]),
  [415, 'UNSUPPORTED_MEDIA_TYPE', 'the body is text', post('{}', { 'content-type': 'text/plain' })],
  [
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    'it is a form',
    post('a=b', { 'content-type': 'application/x-www-form-urlencoded' }),
  ],
  [415, 'UNSUPPORTED_MEDIA_TYPE', 'the type is empty', post('{}', { 'content-type': '' })],
  ...['gzip', 'br', 'x', 'identity, gzip'].map((coding): (typeof refusals)[0] => [
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    `the Content-Encoding is ${coding}`,
    post(JSON.stringify(newAgent()), { ...json, 'content-encoding': coding }),
  ]),
  [
    404,
    'ROUTE_NOT_FOUND',
    'an encoded body goes to an unknown path',
    ['POST', '/nowhere', { payload: { a: 1 }, headers: { 'content-encoding': 'gzip' } }],
  ],
  [413, 'PAYLOAD_TOO_LARGE', 'the body has 2 MB', post(JSON.stringify({ owner: 'x'.repeat(2_000_000) }))],
  [400, 'VALIDATION_ERROR', 'arrays are 100,000 deep', post('['.repeat(100_000) + ']'.repeat(100_000))],
  [
    400,
    'VALIDATION_ERROR',
    'objects are 40,000 deep',
    post(`${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`),
  ],
  [400, 'VALIDATION_ERROR', 'a string holds NUL', agentWith({ owner: 'a\0b' })],
  [400, 'VALIDATION_ERROR', 'a field name holds NUL', agentWith({ 'a\0b': 1 })],
  [400, 'VALIDATION_ERROR', 'a string holds half a surrogate pair', agentWith({ owner: '\ud800' })],
  [
    400,
    'VALIDATION_ERROR',
    'the body is not UTF-8',
    post(Buffer.from(JSON.stringify(newAgent({ owner: '\xff' })), 'latin1')),
  ],
  [
    400,
    'VALIDATION_ERROR',
    'a field is __proto__',
    post(JSON.stringify(newAgent()).replace('{', '{"__proto__":{},')),
  ],
  ...['"owner"', '"\\u006fwner"'].map((name): (typeof refusals)[0] => [
    400,
    'VALIDATION_ERROR',
    `a field is given twice, once as ${name}`,
    post(JSON.stringify(newAgent()).replace('{', `{${name}:"another",`)),
  ]),
  [400, 'VALIDATION_ERROR', 'a field is constructor', agentWith({ constructor: { prototype: {} } })],
  [
    400,
    'VALIDATION_ERROR',
    'an array has 100,000 items',
    agentWith({ capabilities: Array(100_000).fill(1) }),
  ],
  [400, 'VALIDATION_ERROR', 'a string has 200,000 letters', agentWith({ email: 'a@'.repeat(100_000) })],
  [400, 'VALIDATION_ERROR', 'a number is infinite', post('{"owner":1e999}')],
  ...[
    'page=0',
    'page=-1',
    'page=1.5',
    'page=',
    'page=one',
    `page=${'9'.repeat(21)}`,
    'page=1&page=2',
    'limit=0',
    'limit=101',
    `limit=${'9'.repeat(21)}`,
    'status=gone',
    'owner=%00',
    'owner=%ED%A0%80',
    'owner=%FF',
    'owner=%zz',
    '__proto__=1',
    `owner=${'x'.repeat(100_000)}`,
  ].map((query): (typeof refusals)[0] => [
    400,
    'VALIDATION_ERROR',
    `the query is ${query.slice(0, 30)}`,
    list(query),
  ]),
  [400, 'VALIDATION_ERROR', 'the path holds NUL', get('/api/v1/agents/%00')],
  [400, 'VALIDATION_ERROR', 'the path cannot be decoded', get('/%zz')],
  [400, 'VALIDATION_ERROR', 'an id is no UUID', get('/api/v1/agents/__proto__')],
  [
    400,
    'VALIDATION_ERROR',
    'a path parameter has 10,000 letters',
    get(`/api/v1/agents/${'a'.repeat(10_000)}`),
  ],
  [404, 'ROUTE_NOT_FOUND', 'the path is unknown and long', get(`/${'a'.repeat(100_000)}`)],
  [404, 'ROUTE_NOT_FOUND', 'a body goes to an unknown path', ['POST', '/nowhere', { payload: { a: 1 } }]],
  [405, 'METHOD_NOT_ALLOWED', 'the path has no such method', ['DELETE', '/health', {}]],
  ...['application/xml', 'text/plain', 'x', ''].map((type): (typeof refusals)[0] => [
    405,
    'METHOD_NOT_ALLOWED',
    `a body of type "${type}" comes with it`,
    ['POST', '/health', { payload: 'a', headers: { 'content-type': type } }],
  ]),
  [405, 'METHOD_NOT_ALLOWED', 'the body has 2 MB', ['POST', '/health', { payload: 'a'.repeat(2_000_000) }]],
  [405, 'METHOD_NOT_ALLOWED', 'no route uses the method', ['PROPFIND', '/health', {}]],
  [
    405,
    'METHOD_NOT_ALLOWED',
    'a body comes with it',
    ['PUT', '/api/v1/agents', { token, payload: { a: 1 } }],
  ],
  [
    405,
    'METHOD_NOT_ALLOWED',
    'the body is no JSON',
    ['PATCH', '/api/v1/token', { payload: 'a', headers: json }],
  ],
  [405, 'METHOD_NOT_ALLOWED', 'the id in the path is no UUID', ['PUT', '/api/v1/agents/a%20b', { token }]],
  [400, 'VALIDATION_ERROR', 'an unknown method has a malformed path', ['PROPFIND', '/%zz', {}]],
  [401, 'UNAUTHORIZED', 'there is no token', ['GET', '/api/v1/agents', {}]],
  [404, 'AGENT_NOT_FOUND', 'there is no such agent', get(`/api/v1/agents/${crypto.randomUUID()}`)],
];

describe('every response has rate-limit headers, security headers and a request id', () => {
  for (const [status, code, what, [method, url, options]] of refusals) {
    it(`${status} ${code} when ${what}`, async () => {
      assertRefused(await t.call(method as 'GET', url, options), status, code);
    });
  }
  it('400 VALIDATION_ERROR says how to write a percent sign in a path', async () => {
    const { status, json } = await t.call('GET', '/api/v1/agents/%zz', { token });
    assert.equal(status, 400);
    assert.equal(json.message, 'The path is not valid percent-encoded UTF-8; write a literal % as %25.');
  });
  it('403 INSUFFICIENT_SCOPE when the scope is missing', async () => {
    const narrow = await t.token('tokens:read');
    assertRefused(await t.call('GET', '/api/v1/agents', { token: narrow }), 403, 'INSUFFICIENT_SCOPE');
  });
  for (const method of ['GET', 'HEAD', 'OPTIONS'] as const) {
    it(`2xx for ${method}`, async () => {
      const answer = await t.call(method, '/health');
      assertHeaders(answer);
      assert.equal(answer.status, method === 'OPTIONS' ? 204 : 200);
      assert.equal(answer.text.length > 0, method === 'GET');
    });
  }
  it('200 with unknown query parameters, also with names of object members', async () => {
    for (const query of [
      'nonsense=1',
      'constructor=1',
      'toString=1',
      `owner=${encodeURIComponent('ü€😀')}`,
    ]) {
      const answer = await t.call('GET', `/api/v1/agents?${query}`, { token });
      assertHeaders(answer);
      assert.equal(answer.status, 200, query);
    }
  });
  it('2xx with Content-Encoding: identity, or with any and no body', async () => {
    for (const coding of ['identity', 'Identity', '', 'identity, identity']) {
      const [method, url, options] = post(JSON.stringify(newAgent()), {
        ...json,
        'content-encoding': coding,
      });
      assert.equal((await t.call(method as 'POST', url, options)).status, 201, coding);
    }
    const answer = await t.call('GET', '/health', { headers: { 'content-encoding': 'gzip' } });
    assert.equal(answer.status, 200);
  });
  it('201 when a text looks like a duplicate field', async () => {
    const owner = 'she said {"owner":"\\","owner":[":"}]';
    const answer = await t.call('POST', '/api/v1/agents', { token, payload: newAgent({ owner }) });
    assert.deepEqual([answer.status, answer.json.owner], [201, owner]);
  });
  it('400 names the duplicate field', async () => {
    const [method, url, options] = post('{"capabilities":[{"b":1},{"b":2,"b":{"b":3}}]}');
    const { json } = await t.call(method as 'POST', url, options);
    assert.deepEqual(json.details.fields, [{ in: 'body', field: 'b', message: 'is given more than once' }]);
  });
  it('400 names the part of the request', async () => {
    const nul = 'contains a NUL character';
    for (const [part, [method, url, options]] of [
      ['path', get('/api/v1/agents/%00')],
      ['query', list('owner=%00')],
      ['body', agentWith({ owner: '\0' })],
    ] as const) {
      const { json } = await t.call(method as 'GET', url, options);
      assert.deepEqual(json.details.fields, [{ in: part, field: '', message: nul }]);
      assert.equal(json.message, `the ${part} ${nul}`);
    }
  });
});

const closing = 'Host: a\r\nConnection: close\r\n\r\n';
const socketCases: [number, string | undefined, string, string | Buffer][] = [
  [400, 'VALIDATION_ERROR', 'the bytes are garbage', '\x00\x01 nonsense\r\n\r\n'],
  [400, 'VALIDATION_ERROR', 'the client speaks TLS', Buffer.from('16030102000100', 'hex')],
  [400, 'VALIDATION_ERROR', 'the client speaks HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  [400, 'VALIDATION_ERROR', 'there is no such method', `BREW / HTTP/1.1\r\n${closing}`],
  [400, 'VALIDATION_ERROR', 'the URL holds a raw NUL', `GET /\0 HTTP/1.1\r\n${closing}`],
  [
    400,
    'VALIDATION_ERROR',
    'there are Content-Length and Transfer-Encoding',
    `POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n${closing}`,
  ],
  [
    400,
    'VALIDATION_ERROR',
    'HTTP/1.1 comes without Host',
    'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n',
  ],
  [400, 'VALIDATION_ERROR', 'there are two Hosts', `GET /health HTTP/1.1\r\nhost: b\r\n${closing}`],
  [
    400,
    'VALIDATION_ERROR',
    'there are two Authorization headers',
    `GET /api/v1/agents HTTP/1.1\r\n${`Authorization: Bearer ${token}\r\n`.repeat(2)}${closing}`,
  ],
  [
    200,
    undefined,
    'another header of the same length comes twice',
    `GET /health HTTP/1.1\r\n${'X-HeaderThirt: 1\r\nX-Ho: 1\r\n'.repeat(2)}${closing}`,
  ],
  [
    431,
    'HEADERS_TOO_LARGE',
    'a header has 20 kB',
    `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n${closing}`,
  ],
  [431, 'HEADERS_TOO_LARGE', 'the URL has 20 kB', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${closing}`],
  [431, 'HEADERS_TOO_LARGE', 'headers go on for 5 MB', `GET / HTTP/1.1\r\nX: ${'x'.repeat(5_000_000)}`],
  [404, 'ROUTE_NOT_FOUND', 'the path is unknown', `GET /nowhere HTTP/1.1\r\n${closing}`],
  [200, undefined, 'HTTP/1.0 comes without Host', 'GET /health HTTP/1.0\r\n\r\n'],
  [200, undefined, 'the expectation is unknown', `GET /health HTTP/1.1\r\nExpect: a-miracle\r\n${closing}`],
  [200, undefined, 'an upgrade is offered', `GET /health HTTP/1.1\r\nUpgrade: websocket\r\n${closing}`],
  [200, undefined, 'the URL is absolute', `GET http://evil.example/health HTTP/1.1\r\n${closing}`],
];

describe('on a raw socket', () => {
  for (const [status, code, what, bytes] of socketCases) {
    it(`${status} ${code ?? 'OK'} when ${what}`, async () => {
      const [answer, ...more] = await sendRaw(bytes);
      assert.ok(answer && more.length === 0);
      if (code !== undefined) return assertRefused(answer, status, code);
      assertHeaders(answer);
      assert.equal(answer.status, status);
    });
  }
  for (const coding of ['gzip, chunked', 'gzip', 'identity', 'gzip\r\nTransfer-Encoding: chunked']) {
    it(`400 VALIDATION_ERROR with a message about it when the Transfer-Encoding is ${coding}`, async () => {
      const head = `POST /api/v1/agents HTTP/1.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
      const [answer] = await sendRaw(`${head}Transfer-Encoding: ${coding}\r\n${closing}2\r\n{}\r\n0\r\n\r\n`);
      assert.ok(answer);
      assertRefused(answer, 400, 'VALIDATION_ERROR');
      assert.match(answer.json.message, /^The Transfer-Encoding can be chunked/);
    });
  }
  it('413 PAYLOAD_TOO_LARGE when a chunked body exceeds the limit', async () => {
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    const head = `POST /api/v1/agents HTTP/1.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
    const [answer] = await sendRaw(
      `${head}Transfer-Encoding: chunked\r\n${closing}${chunk.repeat(17)}0\r\n\r\n`,
    );
    assert.ok(answer);
    assertRefused(answer, 413, 'PAYLOAD_TOO_LARGE');
  });
  for (const [how, connection] of [
    ['with keep-alive', 'keep-alive'],
    ['with Connection: close', 'close'],
  ]) {
    it(`413 PAYLOAD_TOO_LARGE reaches a client that sends 4 MB before it reads, ${how}`, {
      timeout: 20_000,
    }, async () => {
      const body = Buffer.alloc(4_000_000, 'x');
      const head =
        `POST /api/v1/agents HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
      for (let time = 0; time < 10; time += 1) {
        const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
        // The client does not read yet; a reset would fail the write.
        await new Promise<void>((done, failed) => {
          socket.on('error', failed);
          socket.write(head);
          socket.write(body, () => done());
        });
        const [answer] = await once(socket, 'data');
        assert.match(String(answer), /^HTTP\/1\.1 413 /);
        socket.destroy();
      }
    });
  }
  it('401 does not wait for the rest of a refused body', {
    timeout: 10_000,
  }, async () => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
    socket.write(
      'POST /api/v1/agents HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\nx',
    );
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 401 /);
    await once(socket, 'close');
  });
  it('201 for an empty body with the content type of a form, as `curl -d ""` sends it', async () => {
    const { agentId } = await t.agent();
    const [answer] = await sendRaw(
      `POST /api/v1/agents/${agentId}/credentials HTTP/1.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n${closing}`,
    );
    assert.equal(answer?.status, 201);
  });
  it('pipelined requests are answered in order', async () => {
    const statuses = (
      await sendRaw(
        `GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: a\r\n\r\nHEAD /health HTTP/1.1\r\n${closing}`,
      )
    ).map(({ status }) => status);
    assert.deepEqual(statuses, [200, 404, 200]);
  });
  it('a client that disconnects within its body causes no log line', async () => {
    t.logs.length = 0;
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      'POST /api/v1/token HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nContent-Type: application/x',
    );
    socket.write('-www-form-urlencoded\r\n\r\nabc');
    await sleep(50);
    socket.destroy();
    while ((await new Promise<number>((done) => server.server.getConnections((_, n) => done(n)))) > 0)
      await sleep(5);
    assert.deepEqual(t.logs, []);
  });
});
