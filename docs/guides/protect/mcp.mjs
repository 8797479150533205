// An MCP server with the official SDK. Install: npm install @modelcontextprotocol/sdk express jose
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import { createRemoteJWKSet, jwtVerify } from 'jose';

// The identifier of the resource is the server's address, for example https://tools.example.com/mcp.
const { ISSUER, AUDIENCE, PORT } = process.env;
const keys = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`));
const { origin, pathname } = new URL(AUDIENCE);
const metadataPath = `/.well-known/oauth-protected-resource${pathname}`;

/** The SDK answers 401 when this throws InvalidTokenError, and 403 when a scope is missing. */
const verifier = {
  async verifyAccessToken(token) {
    const { payload } = await jwtVerify(token, keys, {
      issuer: ISSUER,
      audience: AUDIENCE,
      // jose uses each key with its own algorithm only.
      algorithms: ['RS256', 'ES256', 'EdDSA'],
      typ: 'at+jwt',
    }).catch((error) => {
      throw new InvalidTokenError(error.message);
    });
    const scopes = payload.scope.split(' ');
    return { token, clientId: payload.client_id, scopes, expiresAt: payload.exp };
  },
};

function createTools() {
  const server = new McpServer({ name: 'orders', version: '1.0.0' });
  server.registerTool('list_orders', { description: 'Lists the orders' }, ({ authInfo }) => ({
    content: [{ type: 'text', text: `orders for ${authInfo?.clientId}` }],
  }));
  server.registerTool('create_order', { description: 'Creates an order' }, ({ authInfo }) => {
    if (!authInfo?.scopes.includes('orders:write'))
      return { isError: true, content: [{ type: 'text', text: 'insufficient_scope: orders:write' }] };
    return { content: [{ type: 'text', text: `created for ${authInfo?.clientId}` }] };
  });
  return server;
}

const app = express();
app.use(express.json());
// RFC 9728: clients find the issuer of tokens by this document.
app.get(metadataPath, (_, response) => {
  response.json({
    resource: AUDIENCE,
    authorization_servers: [ISSUER],
    scopes_supported: ['orders:read', 'orders:write'],
  });
});
app.post(
  pathname,
  requireBearerAuth({
    verifier,
    requiredScopes: ['orders:read'],
    resourceMetadataUrl: `${origin}${metadataPath}`,
  }),
  async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await createTools().connect(transport);
    await transport.handleRequest(request, response, request.body);
  },
);
app.listen(Number(PORT), '127.0.0.1');
