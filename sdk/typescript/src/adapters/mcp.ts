/** For MCP servers: `requireBearerAuth({ verifier: createTokenVerifier(verifier), resourceMetadataUrl })` of the MCP SDK. */
import {
  InsufficientScopeError,
  InvalidTokenError,
  ServerError,
} from '@modelcontextprotocol/sdk/server/auth/errors.js';
import type { OAuthTokenVerifier } from '@modelcontextprotocol/sdk/server/auth/provider.js';
import { TokenError } from '../errors.ts';
import type { Verifier, VerifyOptions } from '../verifier.ts';

/** Tools find the token in `authInfo`: `clientId` is the agent that calls, `extra` has `subject`, `actors` and the other facts of a VerifiedToken. */
export const createTokenVerifier = (verifier: Verifier, options: VerifyOptions = {}): OAuthTokenVerifier => ({
  async verifyAccessToken(token) {
    const { agentId, scopes, ...extra } = await verifier.verify(token, options).catch((error: unknown) => {
      throw error instanceof TokenError ? mcpErrorOf(error) : error;
    });
    return {
      token,
      clientId: agentId,
      scopes: [...scopes],
      expiresAt: extra.claims.exp as number,
      resource: new URL(verifier.audience),
      extra,
    };
  },
});

/** The MCP SDK chooses the status by the class: 401, 403, or 500 while the token cannot be checked. */
function mcpErrorOf({ code, message }: TokenError): Error {
  const description = message.replaceAll('"', "'");
  if (code === 'temporarily_unavailable') return new ServerError(description);
  return code === 'insufficient_scope' || code === 'insufficient_authorization_details'
    ? new InsufficientScopeError(description)
    : new InvalidTokenError(description);
}
