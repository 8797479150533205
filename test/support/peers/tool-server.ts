/** An MCP server of a company, protected by our SDK: tools act for people, and each needs a scope of its own. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { after } from 'node:test';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  createClient,
  createVerifier,
  TokenError,
  type VerifiedToken,
} from '../../../sdk/typescript/src/sdk.ts';
import type { listenForPeople } from '../clients/listening.ts';

interface ToolServer {
  /** Also the identifier of the resource. */
  readonly url: URL;
  readonly resourceId: string;
}

/** The tools `list_orders` (orders:read) and `create_order` (orders:write) answer with the claims of the token. */
export async function startToolServer({
  t,
  issuer,
  organizationId,
  makeResource,
}: Awaited<ReturnType<typeof listenForPeople>>): Promise<ToolServer> {
  const server = createServer((request, response) => {
    void handle(request, response).catch((error) => response.writeHead(500).end(String(error)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const audience = `${origin}/mcp`;
  const metadataPath = '/.well-known/oauth-protected-resource/mcp';
  const { resourceId } = await makeResource({ identifier: audience });
  const reader = await t.agent({ allowedScopes: ['tokens:read'] });
  const verifier = createVerifier({
    issuer,
    audience,
    organizationId,
    subjects: 'people',
    resourceMetadata: origin + metadataPath,
    revocation: 'introspect',
    // A revoked token is refused at the next request.
    introspectionCacheSeconds: 0,
    introspectWith: createClient({ issuer, clientId: reader.clientId, auth: reader.clientSecret }),
  });

  async function handle(request: IncomingMessage, response: ServerResponse) {
    if (request.url === metadataPath) {
      const metadata = { resource: audience, authorization_servers: [issuer] };
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(metadata));
    }
    if (request.method !== 'POST') return response.writeHead(405).end();
    const body = (await json(request)) as { params?: { name?: string } };
    const scopes = body.params?.name === 'create_order' ? 'orders:write' : 'orders:read';
    const token = await verifier.verify(request, { scopes }).catch((error: unknown) => error);
    if (token instanceof TokenError)
      return response.writeHead(token.status, { 'www-authenticate': token.wwwAuthenticate }).end();
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await createTools(token as VerifiedToken).connect(transport as Parameters<McpServer['connect']>[0]);
    return transport.handleRequest(request, response, body);
  }
  return { url: new URL(audience), resourceId };
}

function createTools({ claims }: VerifiedToken): McpServer {
  const server = new McpServer({ name: 'orders', version: '1.0.0' });
  for (const name of ['list_orders', 'create_order'])
    server.registerTool(name, { description: 'Names the caller' }, () => ({
      content: [{ type: 'text', text: JSON.stringify(claims) }],
    }));
  return server;
}
