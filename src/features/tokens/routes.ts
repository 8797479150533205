import { client, type RouteEntry, route } from '../../kernel/route.ts';
import { AccessTokenResponse, TokenQuery, TokenRequest } from './schema.ts';
import type { TokenService } from './service.ts';

export const tokenRoutes = (tokens: TokenService): RouteEntry[] => [
  route({
    id: 'issueToken',
    summary: 'Exchange client credentials for an access token',
    tag: 'Tokens',
    method: 'POST',
    url: '/token',
    access: client(),
    limit: 'afterVerification',
    accepts: 'form',
    failures: 'oauth',
    schema: { query: TokenQuery, body: TokenRequest, response: { 200: AccessTokenResponse } },
    handler: ({ body, query, headers, origin, countAgainst }) =>
      tokens.issue({ form: body, query, authorization: headers.authorization, origin, countAgainst }),
  }),
];
