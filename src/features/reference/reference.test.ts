import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { startApp } from '../../../test/support/harness.ts';

const t = await startApp();

describe('the reference', () => {
  it('200 /openapi.json lists every route, with version 1.0.0 of the API', async () => {
    const { json } = await t.call('GET', '/openapi.json');
    assert.equal(json.openapi, '3.1.0');
    assert.equal(json.info.version, '1.0.0');
    const documented = Object.entries<Record<string, object>>(json.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    );
    const mounted = t.app.routes
      .filter(({ hidden }) => !hidden)
      .map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(documented.sort(), mounted.sort());
  });
  it('marks optional parameters and bodies', async () => {
    const { paths } = (await t.call('GET', '/openapi.json')).json;
    const parameters: { name: string; required: boolean }[] = paths['/api/v1/agents'].get.parameters;
    assert.ok(parameters.length >= 5);
    assert.ok(parameters.every(({ required }) => !required));
    assert.equal(paths['/api/v1/agents/{agentId}/credentials'].post.requestBody.required, false);
    assert.equal(paths['/api/v1/agents'].post.requestBody.required, true);
  });
  it('200 /docs loads its script from this server, under a policy that allows nothing else', async () => {
    const page = await t.call('GET', '/docs');
    assert.equal(page.status, 200);
    assert.match(String(page.headers['content-type']), /^text\/html/);
    assert.match(page.text, /src="\/docs\/js\/scalar\.js"/);
    assert.doesNotMatch(page.text, /https:\/\/(?!countersign)/);
    const policy = String(page.headers['content-security-policy']);
    assert.doesNotMatch(policy.split(';').find((part) => part.includes('script-src')) ?? '', /unsafe/);
    const [, inline = ''] = /<script[^>]*>([^<]+)<\/script>/.exec(page.text) ?? [];
    assert.ok(policy.includes(createHash('sha256').update(inline).digest('base64')));
    const script = await t.call('GET', '/docs/js/scalar.js');
    assert.equal(script.status, 200);
    assert.ok(script.text.length > 100_000);
  });
  it('200 / names the service; 302 to /console for a browser', async () => {
    for (const accept of ['*/*', 'application/json', '']) {
      const { status, json, headers } = await t.call('GET', '/', { headers: { accept } });
      assert.equal(status, 200);
      assert.deepEqual(json, { name: 'Countersign', version: '1.0.0', docs: '/docs', console: '/console' });
      assert.equal(headers.vary, 'accept');
    }
    const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const { status, headers, text } = await t.call('GET', '/', { headers: browser });
    assert.deepEqual([status, headers.location, text], [302, '/console', '']);
  });
  it('302 /docs/ leads to /docs', async () => {
    const { status, headers } = await t.call('GET', '/docs/');
    assert.deepEqual([status, headers.location], [302, '/docs']);
  });
  it('200 /favicon.ico is an image', async () => {
    const { status, headers, text } = await t.call('GET', '/favicon.ico');
    assert.deepEqual([status, headers['content-type']], [200, 'image/svg+xml']);
    assert.match(text, /^<svg /);
  });
  it('200 /docs calls this server, and gets a token from it', async () => {
    const { text } = await t.call('GET', '/docs');
    assert.match(text, /"tokenUrl": ?"\/api\/v1\/token"/);
    assert.match(text, /"servers": ?\[\s*\{\s*"url": ?"\/"/);
  });
  for (const url of ['/openapi.json', '/docs', '/docs/js/scalar.js']) {
    const get = (headers: Record<string, string>) => t.app.http.server.inject({ url, headers });
    it(`200 ${url} is compressed for clients that accept it, and for no others`, async () => {
      const plain = await get({});
      for (const accepted of ['gzip', 'br, gzip;q=0.5', 'deflate, *']) {
        const packed = await get({ 'accept-encoding': accepted });
        assert.equal(packed.headers['content-encoding'], 'gzip', accepted);
        assert.equal(packed.headers.vary, 'accept-encoding');
        assert.equal(packed.headers['content-type'], plain.headers['content-type']);
        assert.ok(packed.rawPayload.length < plain.rawPayload.length, `${packed.rawPayload.length} bytes`);
        assert.deepEqual(gunzipSync(packed.rawPayload), plain.rawPayload);
      }
      for (const accepted of ['', 'br', 'gzip;q=0', 'gzip;q=0, *', 'gzipped']) {
        const unpacked = await get({ 'accept-encoding': accepted });
        assert.equal(unpacked.headers['content-encoding'], undefined, accepted);
        assert.equal(unpacked.rawPayload.length, plain.rawPayload.length);
      }
    });
    it(`304 ${url} when the client has this version`, async () => {
      const { headers } = await get({});
      for (const tag of [String(headers.etag), `"other", ${headers.etag}`, '*']) {
        const answer = await get({ 'if-none-match': tag });
        assert.deepEqual([answer.statusCode, answer.body, answer.headers.etag], [304, '', headers.etag]);
      }
      assert.equal((await get({ 'if-none-match': '"other"' })).statusCode, 200);
    });
  }
});
