// An MCP server for people. Install: the SDK (docs/guides/typescript-sdk.md), and npm install @modelcontextprotocol/sdk express
import { createClient, createVerifier } from '@countersign/sdk';
import { createTokenVerifier } from '@countersign/sdk/mcp';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';

// AUDIENCE is the address of this server and the identifier of the resource, for example https://tools.example.com/mcp.
// CLIENT_ID and CLIENT_SECRET are those of this server: an agent with the scope tokens:read.
const { ISSUER, AUDIENCE, ORGANIZATION_ID, CLIENT_ID, CLIENT_SECRET, PORT } = process.env;
const { origin, pathname } = new URL(AUDIENCE);
const metadataPath = `/.well-known/oauth-protected-resource${pathname}`;
const resourceMetadataUrl = `${origin}${metadataPath}`;

const verifier = createVerifier({
  issuer: ISSUER,
  audience: AUDIENCE,
  organizationId: ORGANIZATION_ID,
  // A person must have agreed: a token of an agent that acts for itself is refused.
  subjects: 'people',
  // When a person takes the consent back, calls are refused within a second.
  revocation: 'signals',
  signals: {
    client: createClient({ issuer: ISSUER, clientId: CLIENT_ID, auth: CLIENT_SECRET }),
    whenSilent: 'introspect',
  },
});
const requires = (...requiredScopes) =>
  requireBearerAuth({ verifier: createTokenVerifier(verifier), requiredScopes, resourceMetadataUrl });

/** The person that the token is for. */
const personOf = (authInfo) => authInfo.extra.subject.id;

function createTools() {
  const server = new McpServer({ name: 'orders', version: '1.0.0' });
  server.registerTool('list_orders', { description: 'Lists my orders' }, ({ authInfo }) => ({
    content: [{ type: 'text', text: `orders of ${personOf(authInfo)}, asked by ${authInfo?.clientId}` }],
  }));
  server.registerTool('refund_order', { description: 'Refunds an order' }, ({ authInfo }) => ({
    content: [{ type: 'text', text: `refunded for ${personOf(authInfo)}` }],
  }));
  return server;
}

/** The scope that a call needs. A call without it is 403 with `insufficient_scope`, and the host asks the person for more. */
const scopeOf = ({ method, params }) =>
  method === 'tools/call' && params?.name === 'refund_order'
    ? ['orders:read', 'orders:refund']
    : ['orders:read'];

const app = express();
app.use(express.json());
// RFC 9728: hosts find Countersign by this document.
app.get(metadataPath, (_, response) => {
  response.json({ resource: AUDIENCE, authorization_servers: [ISSUER], scopes_supported: ['orders:read'] });
});
app.post(
  pathname,
  (request, response, next) => requires(...scopeOf(request.body ?? {}))(request, response, next),
  async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await createTools().connect(transport);
    await transport.handleRequest(request, response, request.body);
  },
);
const server = app.listen(Number(PORT), '127.0.0.1', () => console.log(`listening on ${AUDIENCE}`));

process.once('SIGTERM', async () => {
  server.close();
  await verifier.close();
});
