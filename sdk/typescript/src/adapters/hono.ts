/** For Hono: `app.get('/orders', requireToken(verifier, { scopes: 'orders:read' }), (c) => c.json(c.get('agent')))`. */
import type { MiddlewareHandler } from 'hono';
import { TokenError } from '../errors.ts';
import type { Verifier, VerifyOptions } from '../verifier.ts';
import type { VerifiedToken } from '../verify/access-token.ts';

/** Answers 401, 403 or 503 unless the request has a token with these scopes. Sets the variable `agent`. */
export const requireToken =
  (
    verifier: Verifier,
    options: VerifyOptions = {},
  ): MiddlewareHandler<{ Variables: { agent: VerifiedToken } }> =>
  async (context, next) => {
    const { raw } = context.req;
    // Hono has the body that an earlier handler has read.
    const rawBody = async () =>
      new Uint8Array(await (raw.bodyUsed ? context.req : raw.clone()).arrayBuffer());
    const { headers, method, url } = raw;
    try {
      context.set('agent', await verifier.verify({ headers, method, url, rawBody }, options));
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      const body = { error: error.code, error_description: error.message };
      return context.json(body, error.status, { 'WWW-Authenticate': error.wwwAuthenticate });
    }
    return next();
  };
