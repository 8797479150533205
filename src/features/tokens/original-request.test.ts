import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isWithin, originalRequest } from './original-request.ts';

const forwarded = {
  'x-forwarded-method': 'POST',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'orders.example.com',
  'x-forwarded-uri': '/orders/5?all=1#end',
};
const original = {
  'x-original-method': 'POST',
  'x-original-url': 'https://orders.example.com/orders/5?all=1',
};
const request = { method: 'POST', url: 'https://orders.example.com/orders/5' };

describe('the request that a proxy describes', () => {
  it('comes from either kind of headers, or from both that agree; without the query', () => {
    assert.deepEqual(originalRequest(forwarded), request);
    assert.deepEqual(originalRequest(original), request);
    assert.deepEqual(originalRequest({ ...forwarded, ...original }), request);
    const url = 'https://orders.example.com/a,b';
    assert.deepEqual(originalRequest({ ...forwarded, 'x-forwarded-uri': '/a,b' }), { method: 'POST', url });
  });
  it('is not known when headers are missing, or a client has added others', () => {
    const unknown = [
      {},
      { ...forwarded, 'x-forwarded-method': undefined },
      { ...forwarded, 'x-forwarded-uri': undefined },
      { ...forwarded, 'x-original-method': 'GET' },
      { ...forwarded, 'x-original-url': 'https://orders.example.com/orders/6' },
      { ...original, 'x-forwarded-method': 'GET' },
      { ...original, 'x-forwarded-uri': '/orders/5' },
    ];
    for (const headers of unknown) assert.match(String(originalRequest(headers)), /says in two ways/);
  });
  it('is not usable when a value is not one of its kind', () => {
    const odd = [
      { ...forwarded, 'x-forwarded-proto': undefined },
      { ...forwarded, 'x-forwarded-host': undefined },
      { ...forwarded, 'x-forwarded-proto': 'file' },
      { ...forwarded, 'x-forwarded-host': 'a.example.com, b.example.com' },
      { ...forwarded, 'x-forwarded-proto': 'https, http' },
      { ...forwarded, 'x-forwarded-method': 'GET, POST' },
      { ...forwarded, 'x-forwarded-method': 'X'.repeat(33) },
      { ...forwarded, 'x-forwarded-uri': ' /orders' },
      { ...forwarded, 'x-forwarded-uri': `/${'a'.repeat(4_096)}` },
      { ...original, 'x-original-url': '/orders/5' },
      { ...original, 'x-original-url': 'https://[/orders/5' },
    ];
    for (const headers of odd)
      assert.match(String(originalRequest(headers)), /not usable/, JSON.stringify(headers).slice(0, 200));
  });
});

describe('an address', () => {
  it('is that of the resource or below it', () => {
    const cases: [url: string, resource: string, within: boolean][] = [
      ['https://a.example/orders', 'https://a.example', true],
      ['https://a.example/', 'https://a.example/', true],
      ['https://A.example:443/mcp', 'https://a.example/mcp', true],
      ['https://a.example/mcp/x', 'https://a.example/mcp', true],
      ['https://a.example/mcp/x', 'https://a.example/mcp/', true],
      ['https://a.example/mcp', 'https://a.example/mcp/', true],
      ['https://a.example/mcpx', 'https://a.example/mcp', false],
      ['https://a.example/mcp/../admin', 'https://a.example/mcp', false],
      ['https://a.example/mcp/%2e%2E/admin', 'https://a.example/mcp', false],
      ['https://b.example/mcp', 'https://a.example/mcp', false],
      ['http://a.example/mcp', 'https://a.example/mcp', false],
      ['https://a.example:8443/mcp', 'https://a.example/mcp', false],
      ['https://a.example/mcp', 'https://[', false],
    ];
    for (const [url, resource, within] of cases)
      assert.equal(isWithin(url, resource), within, `${url} ${resource}`);
  });
});
