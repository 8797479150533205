/** The adapters on the real frameworks, with tokens of a real server. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type Server, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { serve } from '@hono/node-server';
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { agentOf, requireToken as requireForExpress } from '../src/adapters/express.ts';
import { requireToken as requireForFastify } from '../src/adapters/fastify.ts';
import { requireToken as requireForHono } from '../src/adapters/hono.ts';
import { createVerifier, type Verifier } from '../src/sdk.ts';
import { startOrders } from './orders.ts';

const { issuer, organizationId, register, clientOf, buyerOf } = await startOrders();
const audience = 'https://orders.example.com';
const resourceMetadata = `${audience}/.well-known/oauth-protected-resource`;
const resourceId = await register(audience);
const buyer = await buyerOf(resourceId);
const token = await clientOf(buyer).token({ resource: audience });

const base = { issuer, audience, organizationId, resourceMetadata, subjects: 'agents' } as const;
const verifier = createVerifier({ ...base, revocation: 'none' });
const unavailable = createVerifier({
  ...base,
  revocation: 'introspect',
  introspectWith: { fetch: () => Promise.reject(new Error('down')) },
});
/** A mistake of the program must not look like a refusal. */
const faulty: Verifier = { audience, verify: () => Promise.reject(new RangeError('a mistake')) };

const addressOf = async (server: Server): Promise<string> => {
  if (!server.listening) await once(server, 'listening');
  after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const [read, write] = [{ scopes: 'orders:read' }, { scopes: ['orders:read', 'orders:write'], maxDepth: 0 }];

async function startFastify(): Promise<string> {
  const app = Fastify();
  app.get('/orders', { preHandler: requireForFastify(verifier, read) }, async (request) => ({
    agentId: agentOf(request).agentId,
  }));
  // @ts-expect-error A route without requireToken has no agent.
  app.get('/open', async ({ agent }) => ({ agentId: agent.agentId }));
  app.get('/unchecked', async (request) => ({ agentId: agentOf(request).agentId }));
  app.post('/orders', { preHandler: requireForFastify(verifier, write) }, async () => ({ created: true }));
  app.get('/any', { preHandler: requireForFastify(verifier) }, async ({ agent }) => ({
    scopes: agent?.scopes,
  }));
  app.get('/unavailable', { preHandler: requireForFastify(unavailable) }, async () => ({}));
  app.get('/faulty', { preHandler: requireForFastify(faulty) }, async () => ({}));
  after(() => app.close());
  return app.listen({ host: '127.0.0.1', port: 0 });
}

async function startExpress(): Promise<string> {
  const app = express();
  app.set('env', 'test');
  app.get('/orders', requireForExpress(verifier, read), (request, response) => {
    response.json({ agentId: agentOf(request).agentId });
  });
  app.get('/open', ({ agent }, response) => {
    // @ts-expect-error A route without requireToken has no agent.
    response.json({ agentId: agent.agentId });
  });
  app.get('/unchecked', (request, response) => {
    response.json({ agentId: agentOf(request).agentId });
  });
  app.post('/orders', requireForExpress(verifier, write), (_, response) => {
    response.json({ created: true });
  });
  app.get('/any', requireForExpress(verifier), ({ agent }, response) => {
    response.json({ scopes: agent?.scopes });
  });
  app.get('/unavailable', requireForExpress(unavailable), (_, response) => {
    response.json({});
  });
  app.get('/faulty', requireForExpress(faulty), (_, response) => {
    response.json({});
  });
  return addressOf(app.listen(0, '127.0.0.1'));
}

async function startHono(): Promise<string> {
  const app = new Hono()
    .get('/orders', requireForHono(verifier, read), (context) =>
      context.json({ agentId: context.get('agent').agentId }),
    )
    .post('/orders', requireForHono(verifier, write), (context) => context.json({ created: true }))
    .get('/any', requireForHono(verifier), (context) => context.json({ scopes: context.get('agent').scopes }))
    .get('/unavailable', requireForHono(unavailable), (context) => context.json({}))
    .get('/faulty', requireForHono(faulty), (context) => context.json({}));
  app.onError((_, context) => context.text('error', 500));
  return addressOf(serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }) as Server);
}

const frameworks = { Fastify: await startFastify(), Express: await startExpress(), Hono: await startHono() };

for (const [name, address] of Object.entries(frameworks))
  describe(name, () => {
    const call = async (path: string, authorization?: string, method = 'GET') => {
      const headers = authorization === undefined ? {} : { authorization };
      const response = await fetch(`${address}${path}`, { method, headers });
      const text = await response.text();
      const challenge = response.headers.get('www-authenticate');
      return { status: response.status, challenge, text, body: () => JSON.parse(text) };
    };
    const bearer = `Bearer ${token}`;

    it('200: the handler knows the agent', async () => {
      const answer = await call('/orders', bearer);
      assert.deepEqual([answer.status, answer.body()], [200, { agentId: buyer.agentId }]);
      assert.equal(answer.challenge, null);
      assert.deepEqual((await call('/any', bearer)).body(), { scopes: ['orders:read'] });
    });

    it('401: no token; the challenge has the scope and the metadata, but no error', async () => {
      const { status, challenge, body } = await call('/orders');
      assert.equal(status, 401);
      assert.equal(challenge, `Bearer scope="orders:read", resource_metadata="${resourceMetadata}"`);
      assert.equal(body().error, 'invalid_token');
    });

    it('401 invalid_token: a token of another audience, and a changed one', async () => {
      for (const wrong of [await clientOf(buyer).token(), `${token.slice(0, -6)}AAAAAA`, 'x']) {
        const { status, challenge, body } = await call('/orders', `Bearer ${wrong}`);
        assert.equal(status, 401);
        assert.match(String(challenge), /^Bearer error="invalid_token", error_description="[^"]+", scope=/);
        assert.equal(body().error, 'invalid_token');
      }
    });

    it('403 insufficient_scope', async () => {
      const { status, challenge, body } = await call('/orders', bearer, 'POST');
      assert.equal(status, 403);
      assert.match(
        String(challenge),
        /^Bearer error="insufficient_scope", .*scope="orders:read orders:write"/,
      );
      assert.deepEqual(body(), {
        error: 'insufficient_scope',
        error_description: 'the token lacks the scope orders:write',
      });
    });

    it('503 while the token cannot be checked, and 500 for a mistake of the program', async () => {
      assert.equal((await call('/unavailable', bearer)).status, 503);
      const mistake = await call('/faulty', bearer);
      assert.deepEqual([mistake.status, mistake.challenge], [500, null]);
    });

    it('401 invalid_request: a second Authorization header', async () => {
      const url = new URL(`${address}/orders`);
      const request = sendRequest({
        host: url.hostname,
        port: url.port,
        path: url.pathname,
        headers: ['Host', url.host, 'Authorization', bearer, 'Authorization', 'Bearer x'],
      }).end();
      const [response] = await once(request, 'response');
      response.resume();
      assert.equal(response.statusCode, 401);
      assert.match(response.headers['www-authenticate'], /error="invalid_request"/);
    });
  });

for (const [name, address] of Object.entries(frameworks).filter(([name]) => name !== 'Hono'))
  it(`${name}: agentOf throws on a route without requireToken`, async () => {
    const response = await fetch(`${address}/unchecked`);
    assert.equal(response.status, 500);
    assert.match(await response.text(), /add requireToken to its route/);
  });

it('an adapter has at most 40 lines', () => {
  const folder = new URL('../src/adapters/', import.meta.url);
  const lines = readdirSync(folder).map((name) => [
    name,
    readFileSync(new URL(name, folder), 'utf8').trimEnd().split('\n').length,
  ]);
  assert.deepEqual(lines.map(([name]) => name).sort(), ['express.ts', 'fastify.ts', 'hono.ts', 'mcp.ts']);
  for (const [name, count] of lines) assert.ok(Number(count) <= 40, `${name} has ${count} lines`);
});
