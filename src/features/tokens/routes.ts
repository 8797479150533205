import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import {
  client,
  clientOrBearer,
  clientOrScope,
  type RouteEntry,
  resourceToken,
  route,
  scope,
} from '../../kernel/http/route.ts';
import type { RevokeRefreshToken } from '../authorization/revocation.ts';
import type { TokenEndpoint } from './endpoint/token-endpoint.ts';
import { type ForwardAuth, forwardAuthHeaders } from './forward-auth.ts';
import type { Grant } from './grant.ts';
import type { IntrospectionService } from './introspection.ts';
import type { PreviewToken } from './preview/preview.ts';
import {
  AccessTokenResponse,
  ForwardAuthQuery,
  Introspection,
  IntrospectionRequest,
  Nothing,
  PreviewRequest,
  TokenPreview,
  TokenQuery,
  TokenQuestion,
  tokenRequestOf,
} from './schema.ts';

export const tokenRoutes = (
  endpoint: TokenEndpoint,
  introspection: IntrospectionService,
  forwardAuth: ForwardAuth,
  preview: PreviewToken,
  revokeRefreshToken: RevokeRefreshToken,
  grants: readonly Grant[],
): RouteEntry[] => [
  route({
    id: 'issueToken',
    summary: 'Exchange client credentials for an access token',
    description:
      'Send the client id and secret in the form or by HTTP Basic, not both. Instead of a secret the client may send an assertion signed with its registered key. Without `scope` the token has all scopes that the agent may hold.',
    links: [
      {
        to: 'introspectToken',
        description: 'Ask whether the token is active',
        requestBody: { token: '$response.body#/access_token' },
      },
      {
        to: 'revokeToken',
        description: 'Revoke the token',
        requestBody: { token: '$response.body#/access_token' },
      },
    ],
    tag: 'Tokens',
    method: 'POST',
    url: '/token',
    access: client(),
    limit: 'afterVerification',
    accepts: 'form',
    failures: 'oauth',
    malformed: endpoint.malformed,
    isOverloaded: endpoint.isOverloaded,
    schema: { query: TokenQuery, body: tokenRequestOf(grants), response: { 200: AccessTokenResponse } },
    handler: ({ body, query, headers, origin, countAgainst }) =>
      endpoint.issue({
        form: body,
        query,
        authorization: headers.authorization,
        dpop: headers.dpop,
        origin,
        countAgainst,
      }),
  }),
  route({
    id: 'introspectToken',
    summary: 'Ask whether a token is active, and what it carries (RFC 7662)',
    description: 'An expired, revoked or unknown token is answered with `active: false` and no other field.',
    tag: 'Tokens',
    method: 'POST',
    url: '/token/introspect',
    access: clientOrScope('tokens:read'),
    readOnly: true,
    limit: 'caller',
    accepts: 'form',
    schema: { body: IntrospectionRequest, response: { 200: Introspection } },
    handler: ({ caller, body }) => introspection.introspect(caller, body.token),
  }),
  route({
    id: 'forwardAuth',
    summary: 'Let the proxy of an API check the access token of a request',
    description:
      "For `auth_request` of nginx, `forward_auth` of Caddy, and their like. The proxy passes the client's header `Authorization`. 200 with headers for the API, or 401 or 403 with `WWW-Authenticate` for the client.",
    tag: 'Tokens',
    method: 'GET',
    alsoMethods: ['POST', 'PUT', 'PATCH', 'DELETE'],
    url: '/forward-auth',
    access: resourceToken(),
    limit: { perMinute: limits.forwardAuthPerMinute, per: 'agent' },
    errors: ['UNAUTHORIZED', 'INSUFFICIENT_SCOPE'],
    responseHeaders: forwardAuthHeaders,
    schema: { query: ForwardAuthQuery, response: { 200: Type.Null() } },
    async handler({ query, headers, origin, countAgainst, refuseExceeded, header }) {
      const identity = await forwardAuth({ query, headers, origin, countAgainst, refuseExceeded });
      for (const name in identity) header(name, identity[name] as string);
    },
  }),
  route({
    id: 'revokeToken',
    summary: 'End a token before it expires (RFC 7009)',
    description:
      'An unknown or malformed token is answered with success, too. A refresh token ends with all that the person has consented to by it; only its client can end it.',
    tag: 'Tokens',
    method: 'POST',
    url: '/token/revoke',
    access: clientOrBearer(),
    limit: 'caller',
    quota: 'free',
    accepts: 'form',
    errors: ['FORBIDDEN'],
    schema: { body: TokenQuestion, response: { 200: Nothing } },
    async handler({ caller, body: { token, client_id: clientId }, origin }) {
      const isRefreshToken = await revokeRefreshToken({ token, caller, clientId, origin });
      if (!isRefreshToken) await introspection.revoke(caller, token);
      return {};
    },
  }),
  route({
    id: 'previewToken',
    summary:
      'See the claims that a token of an agent would have now, or why it would be refused; issues nothing',
    tag: 'Tokens',
    method: 'POST',
    url: '/tokens/preview',
    access: scope('agents:read'),
    readOnly: true,
    limit: 'caller',
    errors: ['AGENT_NOT_FOUND'],
    schema: { body: PreviewRequest, response: { 200: TokenPreview } },
    handler: ({ caller, body }) => preview(caller, body),
  }),
];
