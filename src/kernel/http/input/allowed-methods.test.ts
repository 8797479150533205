import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { startHttp } from '../../../../test/support/bare-http.ts';
import { docsFixture, startApp } from '../../../../test/support/harness.ts';
import { createAllowedMethods } from './allowed-methods.ts';

const t = await startApp({ RATE_LIMIT_PER_MINUTE: '1000000' }, undefined, { docsFolder: docsFixture });
const { server } = t.app.http;

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH'];
const paths = [...new Set(t.app.routes.map(({ path }) => path))];

const ask = async (method: string, url: string) => {
  const answer = await server.inject({ method: method as 'GET', url });
  const code: string | undefined = answer.headers['content-type']?.toString().startsWith('application/json')
    ? method === 'HEAD' || answer.payload === ''
      ? undefined
      : answer.json().code
    : undefined;
  return { status: answer.statusCode, code, headers: answer.headers };
};

/** The methods that a route answers at this URL, found by asking for each. */
async function answered(url: string): Promise<string[]> {
  const found: string[] = [];
  for (const method of methods) {
    const { status, code, headers } = await ask(method, url);
    assert.ok(status < 500, `${method} ${url}: ${status}`);
    // GET /console/* and GET /docs/* are routes for files. They find none here.
    if (!/^\/(console\/api|docs)\//.test(url)) assert.notEqual(code, 'ROUTE_NOT_FOUND', `${method} ${url}`);
    if (status !== 405) found.push(method);
    assert.equal(headers.allow === undefined, status !== 405);
  }
  return found;
}

describe('a known path with another method', () => {
  for (const [what, value] of [
    ['a UUID', '2b7e1516-28ae-4d2a-a6ab-f7158809cf4f'],
    ['no UUID', 'x'],
    ['encoded', 'a%2Fb%20%3F%25'],
    ['empty', ''],
  ] as const)
    it(`405 METHOD_NOT_ALLOWED with exactly the methods that the router answers; parameters: ${what}`, async () => {
      for (const path of paths) {
        const url = path.replaceAll(/:\w+/g, value);
        const [refused, expected] = [await ask('SEARCH', url), await answered(url)];
        assert.deepEqual([refused.status, refused.code], [405, 'METHOD_NOT_ALLOWED'], url);
        assert.equal(refused.headers.allow, expected.join(', '), url);
      }
    });

  it('405 METHOD_NOT_ALLOWED with a body in the envelope and the headers of a 404', async () => {
    const answer = await t.call('PUT', '/api/v1/agents?limit=1', { payload: { any: 'body' } });
    assert.deepEqual([answer.status, answer.json.code], [405, 'METHOD_NOT_ALLOWED']);
    assert.deepEqual(Object.keys(answer.json), ['code', 'message']);
    assert.equal(answer.headers.allow, 'GET, HEAD, POST');
    const unknown = await t.call('PUT', '/api/v1/nowhere', { payload: { any: 'body' } });
    const ownNames = (headers: object) =>
      Object.keys(headers)
        .filter((name) => name !== 'allow')
        .sort();
    assert.deepEqual(ownNames(answer.headers), ownNames(unknown.headers));
    assert.ok(
      Number(unknown.headers['x-ratelimit-remaining']) < Number(answer.headers['x-ratelimit-remaining']),
    );
  });
  it('405 at the token endpoint in the envelope, and with a token that is not ours', async () => {
    const answer = await t.call('GET', '/api/v1/token', { token: 'e30.e30.e30' });
    assert.deepEqual([answer.status, answer.json.code], [405, 'METHOD_NOT_ALLOWED']);
    assert.equal(answer.headers.allow, 'POST');
  });
  it('405 is counted in the metrics without its path', async () => {
    await ask('SEARCH', '/api/v1/agents/some-id');
    const { text } = await t.call('GET', '/metrics');
    assert.match(text, /service_http_requests_total\{method="OTHER",route="unmatched",status_code="405"\}/);
    assert.doesNotMatch(text, /some-id/);
  });
  it('404 ROUTE_NOT_FOUND for other paths', async () => {
    for (const url of [
      '/api/v1',
      '/api/v1/agents/a/b',
      '/API/v1/agents',
      '/api/v1/agents/a/keys/',
      '//health',
    ])
      assert.equal((await ask('PUT', url)).code, 'ROUTE_NOT_FOUND', url);
  });
  it('429 RATE_LIMIT_EXCEEDED above the limit', async () => {
    const limited = await startApp({ RATE_LIMIT_PER_MINUTE: '2' });
    const statuses = [];
    for (let call = 0; call < 3; call += 1)
      statuses.push((await limited.call('PUT', '/health', { remoteAddress: '192.0.2.77' })).status);
    assert.deepEqual(statuses, [405, 405, 429]);
  });
  it('a CORS preflight is answered, and Allow names OPTIONS', async () => {
    const http = await startHttp([...t.app.routes], { corsOrigin: '*' }, []);
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'PUT' };
    const preflight = await http.server.inject({ method: 'OPTIONS', url: '/health', headers });
    assert.equal(preflight.statusCode, 204);
    const refused = await http.server.inject({ method: 'PUT', url: '/health', headers });
    assert.deepEqual([refused.statusCode, refused.headers.allow], [405, 'GET, HEAD, OPTIONS']);
    assert.equal(refused.headers['access-control-allow-origin'], '*');
  });
  it('never 5xx for TRACE, CONNECT and invented methods on a socket', async () => {
    const { port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }));
    for (const [line, pattern] of [
      ['TRACE /health', /^HTTP\/1\.1 405 /],
      ['QUERY /health', /^HTTP\/1\.1 405 /],
      ['PUT http://evil.example/health', /^HTTP\/1\.1 405 /],
      ['CONNECT example.com:443', /^(HTTP\/1\.1 4\d\d |$)/],
      ['INVENTED /health', /^HTTP\/1\.1 400 /],
    ] as const) {
      const socket = connect(Number(port), '127.0.0.1').setEncoding('latin1');
      let text = '';
      socket.on('data', (chunk) => (text += chunk)).on('error', () => {});
      socket.write(`${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      await new Promise((done) => socket.on('close', done));
      assert.match(text, pattern, line);
    }
  });
});

describe('createAllowedMethods', () => {
  it('unites patterns that match the same path, and knows a wildcard at the end', () => {
    const allowed = createAllowedMethods(
      [
        { method: 'GET', path: '/a/:id' },
        { method: 'POST', path: '/a/b' },
        { method: 'GET', path: '/files/*' },
      ],
      [],
    );
    assert.deepEqual(allowed('/a/b?c=d'), ['GET', 'HEAD', 'POST']);
    assert.deepEqual(allowed('/a/c'), ['GET', 'HEAD']);
    assert.deepEqual(allowed('/a/%zz'), []);
    assert.deepEqual(allowed('/files/x/y'), ['GET', 'HEAD']);
    assert.deepEqual(allowed('/files'), []);
  });
  it('throws for a pattern that it does not understand', () => {
    assert.throws(() => createAllowedMethods([{ method: 'GET', path: '/a/:id(\\d+)' }], []), /understand/);
  });
});
