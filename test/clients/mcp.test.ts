/** The official MCP SDK: a client with only a tool server's address discovers us, gets a token, and calls the tool. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { after, describe, it } from 'node:test';
import {
  ClientCredentialsProvider,
  PrivateKeyJwtProvider,
} from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { clientOf, listen } from '../support/clients/listening.ts';
import { freePort } from '../support/programs.ts';

const t = await listen();
const agent = await clientOf(t);

/** A tool server that accepts our tokens and publishes resource metadata. */
async function startToolServer(): Promise<URL> {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const resource = `${origin}/mcp`;
  const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', t.issuer));
  const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;

  const http = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
      const body = { resource, authorization_servers: [t.issuer], scopes_supported: ['agents:read'] };
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    }
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    const caller = await jwtVerify(token, keys, {
      issuer: t.issuer,
      audience: resource,
      typ: 'at+jwt',
    }).catch(() => undefined);
    if (!caller) {
      return response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
    }
    const tools = new McpServer({ name: 'tools', version: '1.0.0' });
    tools.registerTool('whoami', { description: 'who is calling' }, () => ({
      content: [{ type: 'text', text: String(caller.payload.client_id) }],
    }));
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await tools.connect(transport as never);
    await transport.handleRequest(request, response);
  });
  http.listen(port, '127.0.0.1');
  await once(http, 'listening');
  after(() => {
    http.closeAllConnections();
    http.close();
  });
  return new URL(resource);
}

const toolServer = await startToolServer();

describe('the MCP SDK', () => {
  for (const [name, provider] of [
    [
      'its client-secret provider',
      new ClientCredentialsProvider({
        clientId: agent.clientId,
        clientSecret: agent.clientSecret,
        expectedIssuer: t.issuer,
      }),
    ],
    [
      'its private-key-JWT provider',
      new PrivateKeyJwtProvider({
        clientId: agent.clientId,
        privateKey: agent.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        algorithm: 'ES256',
        expectedIssuer: t.issuer,
      }),
    ],
  ] as const) {
    it(`discovers us from the 401, gets a token and calls a tool, with ${name}`, async () => {
      const client = new Client({ name: 'test', version: '1.0.0' });
      const transport = new StreamableHTTPClientTransport(toolServer, { authProvider: provider });
      await client.connect(transport as never);
      const result = await client.callTool({ name: 'whoami' });
      assert.deepEqual(result.content, [{ type: 'text', text: agent.clientId }]);
      await client.close();
    });
  }
});
