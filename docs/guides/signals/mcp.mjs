// An MCP server that learns of ended tokens within a second. Install: the SDK (docs/guides/typescript-sdk.md), and npm install @modelcontextprotocol/sdk express
import { createClient, createVerifier } from '@countersign/sdk';
import { requireToken } from '@countersign/sdk/mcp';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';

// AUDIENCE is the address of this server and the identifier of the resource, for example https://tools.example.com/mcp.
// CLIENT_ID and CLIENT_SECRET are those of the server itself: an agent with the scope tokens:read.
const { ISSUER, AUDIENCE, ORGANIZATION_ID, CLIENT_ID, CLIENT_SECRET, PORT } = process.env;
const { origin, pathname } = new URL(AUDIENCE);
const metadataPath = `/.well-known/oauth-protected-resource${pathname}`;

const verifier = createVerifier({
  issuer: ISSUER,
  audience: AUDIENCE,
  organizationId: ORGANIZATION_ID,
  subjects: 'any',
  resourceMetadata: `${origin}${metadataPath}`,
  revocation: 'signals',
  signals: {
    client: createClient({ issuer: ISSUER, clientId: CLIENT_ID, auth: CLIENT_SECRET }),
    whenSilent: process.env.WHEN_SILENT ?? 'introspect',
    onStatus: ({ state }) => console.log(`signals: ${state}`),
  },
});

function createTools() {
  const server = new McpServer({ name: 'orders', version: '1.0.0' });
  server.registerTool('list_orders', { description: 'Lists the orders' }, ({ authInfo }) => ({
    content: [{ type: 'text', text: `orders for ${authInfo?.clientId}` }],
  }));
  return server;
}

const app = express();
// The raw body is for proofs with a digest of it (DPoP).
app.use(express.json({ verify: (request, _, bytes) => Object.assign(request, { rawBody: bytes }) }));
// RFC 9728: clients find Countersign by this document.
app.get(metadataPath, (_, response) => {
  response.json({ resource: AUDIENCE, authorization_servers: [ISSUER], scopes_supported: ['orders:read'] });
});
app.post(pathname, requireToken(verifier, { scopes: 'orders:read' }), async (request, response) => {
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  await createTools().connect(transport);
  await transport.handleRequest(request, response, request.body);
});
const server = app.listen(Number(PORT), '127.0.0.1');

process.once('SIGTERM', async () => {
  server.close();
  await verifier.close();
});
