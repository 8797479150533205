/** The same API on each framework, with the adapters of this SDK: `/orders` reads with GET, and writes with POST and a JSON body. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { after } from 'node:test';
import { serve } from '@hono/node-server';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { freePort } from '../../../test/support/programs.ts';
import { requireToken as requireForExpress } from '../src/adapters/express.ts';
import { requireToken as requireForFastify } from '../src/adapters/fastify.ts';
import { requireToken as requireForHono } from '../src/adapters/hono.ts';
import { requireToken as requireForMcp } from '../src/adapters/mcp.ts';
import type { Verifier } from '../src/sdk.ts';

/** Its address is known before it listens: it is the audience of its verifier. */
export const newAddress = async (): Promise<string> => `http://localhost:${await freePort()}`;

const portOf = (address: string) => Number(new URL(address).port);
const listening = async (server: Server): Promise<void> => {
  if (!server.listening) await once(server, 'listening');
  after(() => server.close().closeAllConnections());
};
/** As the README says. */
const keepRawBody = express.json({
  verify: (request, _, bytes) => void Object.assign(request, { rawBody: bytes }),
});

async function startFastify(address: string, verifier: Verifier): Promise<void> {
  const app = Fastify();
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    Object.assign(request, { rawBody: bytes });
    done(null, JSON.parse(String(bytes)));
  });
  app.register(
    async (orders) => {
      orders.addHook('preHandler', requireForFastify(verifier));
      orders.get('/', async ({ agent }) => ({ agentId: agent?.agentId }));
      orders.post('/', async ({ agent, body }) => ({ agentId: agent?.agentId, body }));
    },
    { prefix: '/orders' },
  );
  after(() => app.close());
  await app.listen({ host: '127.0.0.1', port: portOf(address) });
}

async function startExpress(address: string, verifier: Verifier): Promise<void> {
  const orders = express.Router();
  orders.use(keepRawBody, requireForExpress(verifier));
  orders.get('/', ({ agent }, response) => void response.json({ agentId: agent?.agentId }));
  orders.post('/', ({ agent, body }, response) => void response.json({ agentId: agent?.agentId, body }));
  await listening(express().use('/orders', orders).listen(portOf(address), '127.0.0.1'));
}

async function startHono(address: string, verifier: Verifier): Promise<void> {
  const app = new Hono()
    .use('/orders', requireForHono(verifier))
    .get('/orders', (context) => context.json({ agentId: context.get('agent').agentId }))
    .post('/orders', async (context) =>
      context.json({ agentId: context.get('agent').agentId, body: await context.req.json() }),
    );
  await listening(serve({ fetch: app.fetch, hostname: '127.0.0.1', port: portOf(address) }) as Server);
}

/** POST calls a tool, in the form of MCP. */
async function startMcp(address: string, verifier: Verifier): Promise<void> {
  const app = express();
  const check = requireForMcp(verifier);
  app.get('/orders', check, (request, response) => void response.json({ agentId: request.agent?.agentId }));
  app.post('/orders', keepRawBody, check, async (request, response) => {
    const server = new McpServer({ name: 'orders', version: '1.0.0' });
    server.registerTool('whoami', {}, ({ authInfo }) => ({
      content: [{ type: 'text', text: String(authInfo?.clientId) }],
    }));
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport as Parameters<McpServer['connect']>[0]);
    await transport.handleRequest(request, response, request.body);
  });
  await listening(app.listen(portOf(address), '127.0.0.1'));
}

export const frameworks = { Fastify: startFastify, Express: startExpress, Hono: startHono, MCP: startMcp };

/** A body that each of them understands. */
export const call = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami' } }),
};
