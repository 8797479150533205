/** For MCP servers: `requireToken(verifier, …)` in the place of `requireBearerAuth` of the MCP SDK, which has no DPoP. */
import type { OAuthTokenVerifier } from '@modelcontextprotocol/sdk/server/auth/provider.js';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { TokenError } from '../errors.ts';
import type { Verifier, VerifyOptions } from '../verifier.ts';
import { readPresentedToken } from '../verify/bearer.ts';
import { authInfoOf, mcpErrorOf } from '../verify/mcp.ts';
import { type Request, type Response, requireToken as requireForExpress } from './express.ts';

/** For `requireBearerAuth({ verifier, resourceMetadataUrl })`: tokens that are bound to a key are refused. */
export const createTokenVerifier = (verifier: Verifier, options: VerifyOptions = {}): OAuthTokenVerifier => ({
  async verifyAccessToken(token) {
    const verified = await verifier.verify(token, options).catch((error: unknown) => {
      throw error instanceof TokenError ? mcpErrorOf(error) : error;
    });
    return authInfoOf(token, verified, verifier.audience);
  },
});

/** For Express. Sets `request.auth`, which tools find as `authInfo`. */
export const requireToken = (verifier: Verifier, options: VerifyOptions = {}) => {
  const check = requireForExpress(verifier, options);
  return (
    request: Request & { auth?: AuthInfo },
    response: Response,
    next: (error?: unknown) => void,
  ): Promise<void> =>
    check(request, response, (error) => {
      if (error !== undefined || !request.agent) return next(error);
      const { token } = readPresentedToken(request, { scopes: [] });
      request.auth = authInfoOf(token, request.agent, verifier.audience);
      next();
    });
};
