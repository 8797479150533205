/** An MCP client and an MCP server, both with this SDK, and a real Countersign between them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import { createTokenVerifier } from '../src/adapters/mcp.ts';
import { createResourceClient, createVerifier } from '../src/sdk.ts';
import { startOrders } from './orders.ts';

const { t, issuer, organizationId, register, clientOf, buyerOf } = await startOrders();
const reader = clientOf(await t.agent({ allowedScopes: ['tokens:read'] }));

function createTools() {
  const server = new McpServer({ name: 'orders', version: '1.0.0' });
  server.registerTool('whoami', { description: 'Names the agent' }, ({ authInfo }) => ({
    content: [
      {
        type: 'text',
        text: JSON.stringify([authInfo?.clientId, authInfo?.extra?.subject, authInfo?.extra?.actors]),
      },
    ],
  }));
  return server;
}

const app = express();
const server: Server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());
const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
const audience = `${origin}/mcp`;
const resourceMetadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`;
const resourceId = await register(audience);

const handle: express.RequestHandler = async (request, response) => {
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  await createTools().connect(transport as Parameters<McpServer['connect']>[0]);
  await transport.handleRequest(request, response, request.body);
};
const base = { issuer, audience, organizationId, subjects: 'agents' } as const;
const protect = (
  path: string,
  verifier: ReturnType<typeof createVerifier>,
  options?: Parameters<typeof createTokenVerifier>[1],
) =>
  app.post(
    path,
    express.json(),
    requireBearerAuth({
      verifier: createTokenVerifier(verifier, options),
      requiredScopes: ['orders:read'],
      resourceMetadataUrl,
      expectedResource: new URL(audience),
    }),
    handle,
  );
protect('/mcp', createVerifier({ ...base, revocation: 'introspect', introspectWith: reader }), {
  maxDepth: 1,
});
protect('/mcp/own', createVerifier({ ...base, revocation: 'none' }), { maxDepth: 0 });
protect(
  '/mcp/unavailable',
  createVerifier({
    ...base,
    revocation: 'introspect',
    introspectWith: { fetch: () => Promise.reject(new Error('down')) },
  }),
);

app.get(new URL(resourceMetadataUrl).pathname, (_, response) =>
  response.json({ resource: audience, authorization_servers: [issuer], scopes_supported: ['orders:read'] }),
);

/** Calls the tool; each request has a token of this client of the SDK. */
async function whoami(
  client: { fetch(url: string | URL, init?: never): Promise<Response> },
  path = '',
): Promise<unknown> {
  const mcp = new Client({ name: 'buyer', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(`${audience}${path}`), {
    fetch: (url, init) => client.fetch(url, init as never),
  });
  await mcp.connect(transport as Parameters<Client['connect']>[0]);
  const { content } = await mcp.callTool({ name: 'whoami' });
  await mcp.close();
  return JSON.parse((content as [{ text: string }])[0].text);
}

const statusOf = async (path: string, token?: string) => {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`${audience}${path}`, { method: 'POST', headers, body: '{}' });
  await response.text();
  return { status: response.status, challenge: response.headers.get('www-authenticate') };
};

describe('an MCP server', () => {
  it('200: the tool knows the agent that calls it', async () => {
    const buyer = await buyerOf(resourceId);
    const { agentId } = buyer;
    const expected = [agentId, { type: 'agent', id: agentId }, [agentId]];
    assert.deepEqual(await whoami(clientOf(buyer, [audience])), expected);
  });

  it('200: a client that knows only the address of the server finds us, and no server that it does not trust', async () => {
    const buyer = await buyerOf(resourceId);
    const { agentId, clientId, clientSecret } = buyer;
    const grant = { clientId, auth: clientSecret };
    const tools = createResourceClient({ url: audience, issuers: [issuer], grant });
    assert.deepEqual(await whoami(tools), [agentId, { type: 'agent', id: agentId }, [agentId]]);
    const elsewhere = { url: audience, issuers: ['https://login.example.com'], grant };
    await assert.rejects(whoami(createResourceClient(elsewhere)), { code: 'untrusted_issuer' });
  });

  it('200: with a delegation, the tool knows the agent and the subject; 403 where it may not be delegated', async () => {
    const buyer = await buyerOf(resourceId);
    const helper = await t.agent({ allowedScopes: ['agents:read'] });
    const { delegationToken } = await clientOf(buyer).delegate({
      delegateeId: helper.agentId,
      scopes: ['orders:read'],
      resource: [audience],
    });
    const delegated = clientOf(helper, [audience]).redeem(delegationToken);
    const expected = [helper.agentId, { type: 'agent', id: buyer.agentId }, [helper.agentId]];
    assert.deepEqual(await whoami(delegated), expected);
    assert.equal((await statusOf('/own', await delegated.token({ resource: audience }))).status, 403);
  });

  it('401: no token, one of another audience, or a revoked one; the challenge leads to the metadata', async () => {
    const buyer = await buyerOf(resourceId);
    const revoked = await clientOf(buyer).token({ resource: audience });
    await t.form('/api/v1/token/revoke', { token: revoked }, await t.token());
    for (const token of [undefined, await clientOf(buyer).token(), revoked]) {
      const { status, challenge } = await statusOf('', token);
      assert.equal(status, 401);
      assert.match(String(challenge), /^Bearer error="invalid_token", error_description="[^"]*"/);
      assert.ok(challenge?.includes(`resource_metadata="${resourceMetadataUrl}"`));
    }
  });

  it('403: the token lacks the scope of the server', async () => {
    const writer = await buyerOf(resourceId, ['orders:write']);
    const { status } = await statusOf('', await clientOf(writer).token({ resource: audience }));
    assert.equal(status, 403);
  });

  it('500 while the token cannot be checked', async () => {
    const token = await clientOf(await buyerOf(resourceId)).token({ resource: audience });
    assert.equal((await statusOf('/unavailable', token)).status, 500);
  });
});
