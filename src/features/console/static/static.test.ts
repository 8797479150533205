import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { consoleFixture, startApp, startOfMinute } from '../../../../test/support/harness.ts';
import { startConsoleApp } from '../../../../test/support/scenarios/console.ts';

const t = await startConsoleApp({ RATE_LIMIT_PER_MINUTE: '5' });
const script = 'assets/app-4f3a91c2.js';
const get = (url: string, headers: Record<string, string> = {}) =>
  t.app.http.server.inject({ url, headers, remoteAddress: '192.0.2.1' });
/** Without a client that normalizes the path. */
const base = await t.app.http.server.listen({ host: '127.0.0.1', port: 0 });
const getRaw = async (path: string) => {
  const [response] = (await once(request(base, { path }).end(), 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
};
const fixture = (name: string) => readFileSync(join(consoleFixture, name));

describe('the page of the console', () => {
  const paths = [
    '/console',
    '/console/',
    '/console/agents',
    '/console/agents/42?tab=x',
    '/console/index.html',
  ];
  for (const path of paths)
    it(`200 ${path}, uncached, with a nonce that the policy names`, async () => {
      const answer = await get(path);
      assert.equal(answer.statusCode, 200);
      assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8');
      assert.equal(answer.headers['cache-control'], 'no-store');
      const [, nonce] = /name="csp-nonce" content="([\w-]{22,})"/.exec(answer.body) ?? [];
      assert.ok(nonce, answer.body);
      assert.equal(
        answer.headers['content-security-policy'],
        `default-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'`,
      );
      assert.doesNotMatch(answer.body, /__CSP_NONCE__/);
      assert.equal(answer.headers['x-content-type-options'], 'nosniff');
      assert.equal(answer.headers['referrer-policy'], 'no-referrer');
      assert.equal(answer.headers['cross-origin-opener-policy'], 'same-origin');
      assert.equal(answer.headers['set-cookie'], undefined);
    });

  it('has another nonce each time', async () => {
    assert.notEqual((await get('/console')).body, (await get('/console')).body);
  });

  it('200 to HEAD, 405 METHOD_NOT_ALLOWED to others', async () => {
    const head = await t.call('HEAD', '/console');
    assert.deepEqual([head.status, head.text], [200, '']);
    const post = await t.call('POST', '/console/agents', { payload: {} });
    assert.deepEqual([post.status, post.json.code], [405, 'METHOD_NOT_ALLOWED']);
  });

  it('404 ROUTE_NOT_FOUND with a sentence when the console is not built; a build is found without a restart', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'countersign-console-'));
    const app = await startApp({}, t, { consoleFolder: empty });
    for (const path of ['/console', '/console/agents']) {
      const answer = await app.call('GET', path);
      assert.deepEqual([answer.status, answer.json.code], [404, 'ROUTE_NOT_FOUND']);
      assert.match(answer.json.message, /The console is not built here: run `npm run build:console`/);
    }
    const icon = await app.call('GET', '/favicon.ico');
    assert.deepEqual([icon.status, icon.headers['content-type']], [200, 'image/svg+xml']);
    const { cpSync, rmSync } = await import('node:fs');
    cpSync(consoleFixture, empty, { recursive: true });
    assert.equal((await app.call('GET', '/console')).status, 200);
    rmSync(empty, { recursive: true });
  });
});

describe('the files of the console', () => {
  it('200 with a type, cached for a year when the name has a hash', async () => {
    for (const [name, type] of [
      [script, 'text/javascript; charset=utf-8'],
      ['assets/app-0b7c55e1.css', 'text/css; charset=utf-8'],
    ] as const) {
      const { statusCode, headers, rawPayload } = await get(`/console/${name}`);
      assert.deepEqual([statusCode, headers['content-type']], [200, type]);
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
      assert.deepEqual(rawPayload, fixture(name));
    }
    const icon = await get('/console/favicon.svg');
    assert.deepEqual(
      [icon.headers['content-type'], icon.headers['cache-control']],
      ['image/svg+xml', 'public, no-cache'],
    );
  });

  it('200 compressed for clients that accept it, from the compressed file or without one', async () => {
    for (const name of [script, 'assets/app-0b7c55e1.css']) {
      const packed = await get(`/console/${name}`, { 'accept-encoding': 'br, gzip' });
      assert.equal(packed.headers['content-encoding'], 'gzip');
      assert.equal(packed.headers.vary, 'accept-encoding');
      assert.deepEqual(gunzipSync(packed.rawPayload), fixture(name));
    }
    const packed = await get(`/console/${script}`, { 'accept-encoding': 'gzip' });
    assert.deepEqual(packed.rawPayload, fixture(`${script}.gz`));
  });

  it('304 when the client has this version', async () => {
    for (const name of [script, 'favicon.svg']) {
      const { headers } = await get(`/console/${name}`);
      const again = await get(`/console/${name}`, { 'if-none-match': String(headers.etag) });
      assert.deepEqual([again.statusCode, again.body], [304, '']);
    }
  });

  it('200 /favicon.ico is the icon of the console', async () => {
    const answer = await get('/favicon.ico');
    assert.equal(answer.headers['content-type'], 'image/svg+xml');
    assert.deepEqual(answer.rawPayload, fixture('favicon.svg'));
  });

  it('the page, never a file, for a path that leads out of the folder or to a file of another type', async () => {
    for (const path of [
      '..%2f..%2f..%2fpackage.json',
      '%2e%2e/%2e%2e/%2e%2e/package.json',
      '../../../package.json',
      '/etc/passwd',
      '%2fetc%2fpasswd',
      '..\\..\\package.json',
      'notes.secret',
      'ASSETS/app-4f3a91c2.js',
      'assets',
      '__proto__',
      'constructor',
    ]) {
      const answer = await getRaw(`/console/${path}`);
      assert.equal(answer.status, 200, path);
      assert.match(answer.body, /^<!doctype html>/, path);
      assert.equal(answer.headers['cache-control'], 'no-store');
    }
    assert.equal((await get('/console/a%00b')).statusCode, 400);
    assert.equal((await get('/console/%ff')).statusCode, 400);
  });

  it('404 ROUTE_NOT_FOUND for an asset that does not exist', async () => {
    for (const path of [
      'assets/app-00000000.js',
      'assets/..%2findex.html',
      'assets%2f..%2f..%2f..%2fpackage.json',
      `${script}.gz`,
      `${script}%20`,
      'assets/',
    ]) {
      const answer = await getRaw(`/console/${path}`);
      assert.equal(answer.status, 404, path);
      assert.equal(JSON.parse(answer.body).code, 'ROUTE_NOT_FOUND', path);
    }
  });

  it('429 after 600 requests of an address in a minute, in a window that is not that of the API', async () => {
    startOfMinute(t.clock);
    const getFrom = (url: string, remoteAddress = '192.0.2.3') =>
      t.app.http.server.inject({ url, remoteAddress });
    const urls = ['/console', '/console/agents', `/console/${script}`];
    const remaining = [];
    for (const url of urls) {
      const { statusCode, headers } = await getFrom(url);
      assert.deepEqual([statusCode, headers['x-ratelimit-limit']], [200, '600'], url);
      remaining.push(headers['x-ratelimit-remaining']);
    }
    assert.deepEqual(remaining, ['599', '598', '597']);
    await Promise.all(Array.from({ length: 597 }, () => getFrom(`/console/${script}`)));
    for (const url of urls) {
      const { statusCode, headers } = await getFrom(url);
      assert.equal(statusCode, 429, url);
      assert.ok(Number(headers['retry-after']) > 0);
    }
    // Nor is it that of signing in.
    const options = await getFrom('/console/api/sign-in-options');
    assert.deepEqual([options.statusCode, options.headers['x-ratelimit-remaining']], [200, '599']);
    assert.equal((await getFrom('/')).headers['x-ratelimit-remaining'], '4');
    assert.equal((await getFrom('/console', '192.0.2.4')).statusCode, 200);
  });

  it('403 to a page of another site that embeds them, in a window of their own; 200 to a followed link', async () => {
    startOfMinute(t.clock);
    const urls = ['/console', '/console/agents', `/console/${script}`, '/console/api/sign-in-options'];
    const send = (url: string, headers: Record<string, string> = {}) =>
      t.app.http.server.inject({ url, headers, remoteAddress: '192.0.2.5' });
    const embeds: Record<string, string>[] = ['cross-site', 'same-site'].flatMap((site) => [
      { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
      { 'sec-fetch-site': site, 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
      { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    ]);
    let sent = 0;
    for (const url of urls)
      for (const headers of embeds) {
        const answer = await send(url, headers);
        sent += 1;
        assert.deepEqual([answer.statusCode, answer.json().code], [403, 'FORBIDDEN'], url);
        assert.equal(answer.headers['x-ratelimit-remaining'], String(600 - sent), url);
      }
    await Promise.all(Array.from({ length: 600 - sent }, () => send('/console/x', embeds[0])));
    assert.equal((await send('/console/x', embeds[0])).statusCode, 429);
    // Requests with a session from another site share that window.
    const session = { ...embeds[0], cookie: 'countersign=x' };
    for (const url of ['/console/api/session', '/console/api/v1/agents'])
      assert.equal((await send(url, session)).statusCode, 429, url);
    const link = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    const opened = await send('/console', link);
    assert.deepEqual([opened.statusCode, opened.headers['x-ratelimit-remaining']], [200, '599']);
    const options = await send('/console/api/sign-in-options', { 'sec-fetch-site': 'same-origin' });
    assert.deepEqual([options.statusCode, options.headers['x-ratelimit-remaining']], [200, '599']);
    assert.equal((await send('/')).headers['x-ratelimit-remaining'], '4');
  });

  it('have one label in the metrics', async () => {
    await get('/console/agents/some-name');
    const { text: exposition } = await t.call('GET', '/metrics', { remoteAddress: '192.0.2.2' });
    assert.match(exposition, /route="\/console\/\*"/);
    assert.doesNotMatch(exposition, /some-name/);
  });
});
