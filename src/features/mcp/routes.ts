/** `/mcp`: the Streamable HTTP transport of MCP, without sessions. */
import Type from '../../contract/json-schema.ts';
import { mcpScopes } from '../../contract/scopes.ts';
import { fail } from '../../kernel/fail.ts';
import { bearer, type RouteEntry, rootRoute, wholeAnswer } from '../../kernel/http/route.ts';
import type { McpAnswer } from '../../kernel/ports/mcp.ts';
import type { McpDeps } from './feature.ts';
import type { McpExchange } from './service.ts';

/** The others are about the connection, which is not the protocol's. */
const ofProtocol = /^(?:www-authenticate|cache-control|mcp-.+)$/;

export const mcpRoutes = (
  { issuer, corsOrigin }: Pick<McpDeps, 'issuer' | 'corsOrigin'>,
  answer: (exchange: McpExchange) => Promise<McpAnswer>,
): RouteEntry[] => [
  rootRoute({
    id: 'mcp',
    summary: 'The MCP server: questions of assistants about agents, access and the audit log',
    tag: 'Discovery',
    method: 'POST',
    url: '/mcp',
    access: bearer(),
    // The operations behind a tool count against the plan themselves.
    quota: 'free',
    limit: 'caller',
    queued: false,
    ownMetadata: { scopes: mcpScopes },
    hidden: true,
    // One message: each counts against the limit.
    schema: { body: Type.Object({}, { additionalProperties: true }), response: { 200: Type.Unsafe({}) } },
    async handler({ caller, headers, body, header, sendInner, endSignal }) {
      // The protocol asks for this check: a page of another site must not reach a server on the person's own machine.
      const { origin } = headers;
      const allowed = [new URL(issuer).origin, corsOrigin ?? []].flat();
      if (origin !== undefined && !allowed.includes(String(origin)) && !allowed.includes('*'))
        fail('FORBIDDEN', {
          message:
            'The MCP server answers programs and pages of its own origin. The operator can allow others: CORS_ORIGIN.',
        });
      const answered = await answer({ caller, headers, body, sendInner, endSignal });
      for (const [name, value] of Object.entries(answered.headers))
        if (ofProtocol.test(name)) header(name, value);
      return wholeAnswer({
        status: answered.status,
        type: answered.headers['content-type'] ?? 'application/json',
        text: answered.text,
      });
    },
  }),
];
