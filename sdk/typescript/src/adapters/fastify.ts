/** For Fastify: `app.get('/orders', { preHandler: requireToken(verifier, { scopes: 'orders:read' }) }, …)`. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TokenError } from '../errors.ts';
import type { Verifier, VerifyOptions } from '../verifier.ts';
import type { VerifiedToken } from '../verify/access-token.ts';
import type { RawBody } from '../verify/bearer.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on the routes that have `requireToken`, and on no other: read it with `agentOf(request)`. */
    agent?: VerifiedToken;
  }
}

export { agentOf } from '../verify/agent-of.ts';

/** Answers 401, 403 or 503 unless the request has a token with these scopes. Sets `request.agent`. */
export const requireToken =
  (verifier: Verifier, options: VerifyOptions = {}) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    try {
      const { originalUrl, rawBody, body }: FastifyRequest & { rawBody?: RawBody } = request;
      const { headers, rawHeaders, method } = request.raw;
      const source = { headers, rawHeaders, method, url: originalUrl, rawBody, body };
      request.agent = await verifier.verify(source, options);
      return undefined;
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      reply.code(error.status).header('WWW-Authenticate', error.wwwAuthenticate);
      return reply.send({ error: error.code, error_description: error.message });
    }
  };
