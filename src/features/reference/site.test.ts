import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { docsFixture, startApp, startOfMinute } from '../../../test/support/harness.ts';

const t = await startApp({ RATE_LIMIT_PER_MINUTE: '5' }, undefined, { docsFolder: docsFixture });
const fixture = (name: string) => readFileSync(join(docsFixture, name), 'utf8');
const policy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
/** Without a client that normalizes the path. */
const base = await t.app.http.server.listen({ host: '127.0.0.1', port: 0 });
const getRaw = async (path: string) => {
  const [response] = (await once(request(base, { path }).end(), 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
};

describe('the documentation site', () => {
  const pages: Record<string, string> = {
    '/docs': 'index.html',
    '/docs/guides/webhooks': 'guides/webhooks.html',
    '/docs/guides/webhooks?from=search': 'guides/webhooks.html',
    '/docs/guides/': 'guides/index.html',
    '/docs/guides': 'guides/index.html',
  };
  for (const [path, name] of Object.entries(pages))
    it(`200 ${path} is ${name}, under a policy without inline scripts and other hosts`, async () => {
      const { status, headers, text } = await t.call('GET', path);
      assert.deepEqual([status, text], [200, fixture(name)]);
      assert.equal(headers['content-type'], 'text/html; charset=utf-8');
      assert.equal(headers['content-security-policy'], policy);
      assert.equal(headers['cache-control'], 'public, no-cache');
      assert.equal(headers['x-content-type-options'], 'nosniff');
    });

  it('302 /docs/ leads to /docs', async () => {
    const { status, headers } = await t.call('GET', '/docs/');
    assert.deepEqual([status, headers.location], [302, '/docs']);
  });

  it('200 a page as Markdown, beside its HTML, and the indexes for language models', async () => {
    const types = { md: 'text/markdown; charset=utf-8', txt: 'text/plain; charset=utf-8' };
    for (const [path, name, type] of [
      ['/docs/guides/webhooks.md', 'guides/webhooks.md', types.md],
      ['/llms.txt', 'llms.txt', types.txt],
      ['/llms-full.txt', 'llms-full.txt', types.txt],
    ] as const) {
      const { status, headers, text } = await t.call('GET', path);
      assert.deepEqual([status, text, headers['content-type']], [200, fixture(name), type], path);
    }
  });

  it('200 a file whose name has a hash is cached for a year, and compressed', async () => {
    const url = '/docs/assets/app.4f3a91c2.js';
    const { statusCode, headers, rawPayload } = await t.app.http.server.inject({
      url,
      headers: { 'accept-encoding': 'br, gzip' },
    });
    assert.equal(statusCode, 200);
    assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
    assert.equal(gunzipSync(rawPayload).toString(), fixture('assets/app.4f3a91c2.js'));
    const again = await t.call('GET', url, { headers: { 'if-none-match': String(headers.etag) } });
    assert.equal(again.status, 304);
  });

  it('200 /docs/api is the reference of the API', async () => {
    const { status, text } = await t.call('GET', '/docs/api');
    assert.equal(status, 200);
    assert.match(text, /src="\/docs\/js\/scalar\.js"/);
  });

  it('404 a page for browsers, ROUTE_NOT_FOUND for programs', async () => {
    const shown = await t.call('GET', '/docs/guides/nothing', { headers: browser });
    assert.deepEqual([shown.status, shown.text], [404, fixture('404.html')]);
    assert.equal(shown.headers['content-security-policy'], policy);
    assert.equal(shown.headers['content-type'], 'text/html; charset=utf-8');
    const { status, json } = await t.call('GET', '/docs/guides/nothing');
    assert.deepEqual([status, json.code], [404, 'ROUTE_NOT_FOUND']);
    assert.match(json.message, /\/llms\.txt lists the pages/);
  });

  it('404 for a path that leads out of the folder, or to a file of another type', async () => {
    for (const path of [
      '..%2f..%2f..%2fpackage.json',
      '%2e%2e/%2e%2e/package.json',
      'guides/..%2f..%2fpackage',
      '%2fetc%2fpasswd',
      'notes.secret',
      'assets/app.00000000.js',
      'assets/',
      '__proto__',
      'constructor',
    ]) {
      const { status, body } = await getRaw(`/docs/${path}`);
      assert.equal(status, 404, path);
      assert.equal(JSON.parse(body).code, 'ROUTE_NOT_FOUND', path);
    }
  });

  it('counts in the window of files, which leaves the API as it is', async () => {
    startOfMinute(t.clock);
    const get = (url: string) => t.app.http.server.inject({ url, remoteAddress: '192.0.2.9' });
    for (const url of ['/docs', '/docs/guides/webhooks', '/llms.txt', '/docs/', '/docs/x', '/docs', '/docs'])
      assert.equal((await get(url)).headers['x-ratelimit-limit'], '600', url);
    assert.equal((await get('/')).headers['x-ratelimit-remaining'], '4');
  });

  it('200 /docs is the reference where no site is built; 404 with a sentence for its pages; found without a restart', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'countersign-docs-'));
    const app = await startApp({}, t, { docsFolder: empty });
    const reference = await app.call('GET', '/docs');
    assert.equal(reference.status, 200);
    assert.match(reference.text, /src="\/docs\/js\/scalar\.js"/);
    for (const path of ['/docs/guides/webhooks', '/llms.txt']) {
      const { status, json } = await app.call('GET', path, { headers: browser });
      assert.deepEqual([status, json.code], [404, 'ROUTE_NOT_FOUND']);
      assert.match(json.message, /The documentation is not built here: run `npm run docs`/);
    }
    cpSync(docsFixture, empty, { recursive: true });
    assert.equal((await app.call('GET', '/docs')).text, fixture('index.html'));
    assert.equal((await app.call('GET', '/docs/guides/webhooks')).status, 200);
    rmSync(empty, { recursive: true });
  });
});
