/** For Express: `app.get('/orders', requireToken(verifier, { scopes: 'orders:read' }), …)`. */
import { TokenError } from '../errors.ts';
import type { Verifier, VerifyOptions } from '../verifier.ts';
import type { VerifiedToken } from '../verify/access-token.ts';
import type { RequestWithHeaders } from '../verify/bearer.ts';

declare global {
  namespace Express {
    interface Request {
      /** Set on the routes that have `requireToken`, and on no other: read it with `agentOf(request)`. */
      agent?: VerifiedToken;
    }
  }
}

export { agentOf } from '../verify/agent-of.ts';

export type Request = RequestWithHeaders & { agent?: VerifiedToken };

export interface Response {
  status(status: number): Response;
  setHeader(name: string, value: string): unknown;
  json(body: object): unknown;
}

/** Answers 401, 403 or 503 unless the request has a token with these scopes. Sets `request.agent`. */
export const requireToken =
  (verifier: Verifier, options: VerifyOptions = {}) =>
  async (request: Request, response: Response, next: (error?: unknown) => void): Promise<void> => {
    try {
      request.agent = await verifier.verify(request, options);
    } catch (error) {
      if (!(error instanceof TokenError)) return next(error);
      response.setHeader('WWW-Authenticate', error.wwwAuthenticate);
      response.status(error.status).json({ error: error.code, error_description: error.message });
      return;
    }
    next();
  };
