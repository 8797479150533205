import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/harness.ts';

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
  it('says what may be left out: parameters with a default, optional bodies', async () => {
    const { paths } = (await t.call('GET', '/openapi.json')).json;
    const parameters: { name: string; required: boolean }[] = paths['/api/v1/agents'].get.parameters;
    assert.ok(parameters.length >= 5);
    assert.ok(parameters.every(({ required }) => !required));
    assert.equal(paths['/api/v1/agents/{agentId}/credentials'].post.requestBody.required, false);
    assert.equal(paths['/api/v1/agents'].post.requestBody.required, true);
  });
  it('200 /docs is a page that loads its script from here, under a policy that admits nothing else', async () => {
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
});
