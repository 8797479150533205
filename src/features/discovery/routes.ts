import type { TSchema } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { open, type RouteEntry, rootRoute } from '../../kernel/http/route.ts';
import {
  authorizationServer,
  openidConfiguration,
  protectedMcpServer,
  protectedResource,
} from './documents.ts';
import type { DiscoveryDeps } from './feature.ts';

const KeySet = Type.Object({
  keys: Type.Array(Type.Object({}, { additionalProperties: true }), {
    description:
      'Public keys as JWKs (RFC 7517), the current one first. `alg` is the only algorithm of a key: RS256 (RSA), ES256 (EC P-256) or EdDSA (Ed25519).',
    examples: [[{ kty: 'RSA', use: 'sig', alg: 'RS256', kid: '8yVpAj2n', n: 'sXchDaQebHnPiGvy', e: 'AQAB' }]],
  }),
});

export const discoveryRoutes = (deps: DiscoveryDeps): RouteEntry[] => {
  const document = (id: string, url: string, summary: string, body: () => object, schema?: TSchema) =>
    rootRoute({
      id,
      summary,
      tag: 'Discovery',
      method: 'GET',
      url: `/.well-known/${url}`,
      access: open(),
      limit: 'caller',
      schema: {
        response: { 200: schema ?? Type.Object({}, { additionalProperties: true, examples: [body()] }) },
      },
      handler({ header }) {
        header('cache-control', 'public, max-age=300');
        return body();
      },
    });
  return [
    document(
      'jwks',
      'jwks.json',
      'The keys that verify our tokens',
      () => ({ keys: deps.signer.publicKeys() }),
      KeySet,
    ),
    document('authorizationServer', 'oauth-authorization-server', 'How to get a token (RFC 8414)', () =>
      authorizationServer(deps),
    ),
    document(
      'openidConfiguration',
      'openid-configuration',
      'The same, where OpenID clients look for it',
      () => openidConfiguration(deps),
    ),
    document(
      'protectedResource',
      'oauth-protected-resource',
      'What tokens for this API are like (RFC 9728)',
      () => protectedResource(deps),
    ),
    document(
      'protectedMcpServer',
      'oauth-protected-resource/mcp',
      'The same for our MCP server, which takes the same tokens (RFC 9728)',
      () => protectedMcpServer(deps),
    ),
  ];
};
